#include <stdbool.h>
#include <stdint.h>
void contract(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  int64_t n0 = args[3];
  int64_t n1 = args[4];
  int64_t n2 = args[5];
  int64_t n3 = args[6];
  int64_t n4 = args[7];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0%n0);
    int64_t alu1 = (alu0*n0);
    int64_t alu2 = (ridx0/n0);
    int64_t alu3 = (alu2*n1);
    int64_t alu4 = ((alu2*n2)+alu1);
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      float acc0 = 0.0f;
      for (int64_t ridx2 = 0; ridx2 < n3; ridx2++) {
        int64_t alu5 = (ridx2*n2);
        int64_t alu6 = (ridx2*n0);
        for (int64_t ridx3 = 0; ridx3 < n3; ridx3++) {
          int64_t alu7 = (ridx3+alu0+(-1LL));
          bool alu8 = ((0<=alu7)&&(alu7<n0));
          int64_t alu9 = (alu5+(ridx3*n0));
          int64_t alu10 = (alu6+(ridx3*n3));
          for (int64_t ridx4 = 0; ridx4 < n3; ridx4++) {
            int64_t alu11 = (ridx4+ridx1+(-1LL));
            bool alu12 = ((alu8&&(0<=alu11))&&(alu11<n0));
            float val0 = (alu12?*(in0+(alu9+ridx4+alu1+ridx1+n4)):0.0f);
            float val1 = *(in1+(alu10+ridx4+alu3));
            acc0 = (acc0+((alu12?val0:0.0f)*val1));
          }
        }
      }
      *(out0+(alu4+ridx1)) = acc0;
    }
  }
}
