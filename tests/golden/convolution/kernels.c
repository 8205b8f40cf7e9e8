#include <stdbool.h>
#include <stdint.h>
void permute(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  int64_t n0 = args[2];
  int64_t n1 = args[3];
  int64_t n2 = args[4];
  int64_t n3 = args[5];
  int64_t n4 = args[6];
  int64_t n5 = args[7];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0/n0);
    int64_t alu1 = ((ridx0/n2)%n2);
    int64_t alu2 = ((ridx0/n4)%n4);
    int64_t alu3 = (ridx0%n4);
    int64_t alu4 = ((alu0*n1)+(alu1*n3)+(alu2*n2)+(alu3*n4));
    int64_t alu5 = (alu0+alu3+(-1LL));
    bool alu6 = ((0<=alu5)&&(alu5<n2));
    int64_t alu7 = ((alu0*n2)+alu1+(alu2*n0)+(alu3*n2));
    for (int64_t ridx1 = 0; ridx1 < n4; ridx1++) {
      int64_t alu8 = (alu1+ridx1+(-1LL));
      bool alu9 = ((alu6&&(0<=alu8))&&(alu8<n2));
      float val0 = (alu9?*(in0+(alu7+ridx1+n5)):0.0f);
      *(out0+(alu4+ridx1)) = (alu9?val0:0.0f);
    }
  }
}

void permute_1(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  int64_t n0 = args[2];
  int64_t n1 = args[3];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0*n0);
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      float val0 = *(in0+(ridx0+(ridx1*n1)));
      *(out0+(alu0+ridx1)) = val0;
    }
  }
}
