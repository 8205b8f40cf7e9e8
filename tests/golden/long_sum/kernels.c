#include <stdbool.h>
#include <stdint.h>

static inline int64_t minimum_i64(int64_t a, int64_t b) { return a < b ? a : b; }

void reduce_sum(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  int64_t n0 = args[2];
  int64_t n1 = args[3];
  int64_t n2 = args[4];
  int64_t n3 = args[5];
  float acc0 = 0.0f;
  for (int64_t ridx0 = 0; ridx0 < 2; ridx0++) {
    int64_t alu0 = (ridx0*4096);
    int64_t alu1 = minimum_i64((((ridx0*n0)+n1)/16), 256);
    int64_t alu2 = minimum_i64(((alu1+1+n2)/16), 16);
    float acc1 = 0.0f;
    float acc1_lanes[16];
    for (int k = 0; k < 16; k++) { acc1_lanes[k] = acc1; }
    for (int64_t ridx1 = 0; ridx1 < 16; ridx1++) {
      int64_t lane0 = ridx1%16;
      int64_t alu3 = (alu0+ridx1);
      int64_t alu4 = (ridx1+n3);
      bool alu5 = (alu4<n1);
      float val0 = (alu5?*(in0+alu4):0.0f);
      float alu6 = (alu5?(val0*val0):0.0f);
      float acc2 = 0.0f;
      for (int64_t ridx2 = 0; ridx2 < alu2; ridx2++) {
        float acc3 = 0.0f;
        int64_t alu7 = (alu3+(ridx2*256));
        int64_t alu8 = (alu1-(ridx2*16));
        for (int64_t ridx3 = 0; ridx3 < minimum_i64(alu8, 16); ridx3++) {
          float val1 = *(in0+(alu7+(ridx3*16)));
          acc3 = (acc3+(val1*val1));
        }
        float acc4 = acc3;
        for (int64_t ridx4 = 0; ridx4 < minimum_i64((16-alu8), 1); ridx4++) {
          acc4 = (acc4+alu6);
        }
        acc2 = (acc2+acc4);
      }
      acc1_lanes[lane0] = (acc1_lanes[lane0]+acc2);
    }
    for (int n = 8; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc1_lanes[k] = (acc1_lanes[k]+acc1_lanes[k+n]); } }
    acc1 = acc1_lanes[0];
    acc0 = (acc0+acc1);
  }
  *(out0+0) = acc0;
}
