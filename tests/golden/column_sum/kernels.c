#include <stdint.h>

static inline int64_t minimum_i64(int64_t a, int64_t b) { return a < b ? a : b; }

void reduce_sum(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  int64_t n0 = args[2];
  int64_t n1 = args[3];
  int64_t n2 = args[4];
  int64_t n3 = args[5];
  int64_t n4 = args[6];
  int64_t n5 = args[7];
  int64_t n6 = args[8];
  int64_t n7 = args[9];
  int64_t n8 = args[10];
  int64_t n9 = args[11];
  int64_t n10 = args[12];
  int64_t n11 = args[13];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float acc0 = 0.0f;
    for (int64_t ridx1 = 0; ridx1 < 2; ridx1++) {
      int64_t alu0 = (ridx0+(ridx1*n0));
      int64_t alu1 = (ridx1*(-1LL));
      float acc1 = 0.0f;
      for (int64_t ridx2 = 0; ridx2 < 2; ridx2++) {
        int64_t alu2 = (alu0+(ridx2*n1));
        int64_t alu3 = (alu1+(ridx2*n2));
        float acc2 = 0.0f;
        for (int64_t ridx3 = 0; ridx3 < 2; ridx3++) {
          int64_t alu4 = (alu2+(ridx3*n3));
          int64_t alu5 = (alu3+(ridx3*n4));
          float acc3 = 0.0f;
          for (int64_t ridx4 = 0; ridx4 < 2; ridx4++) {
            int64_t alu6 = (alu4+(ridx4*n5));
            int64_t alu7 = (((alu5+(ridx4*n6)+n7)/16)+n8);
            float acc4 = 0.0f;
            for (int64_t ridx5 = 0; ridx5 < ((alu7+n9)/16); ridx5++) {
              float acc5 = 0.0f;
              int64_t alu8 = (alu6+(ridx5*n10));
              for (int64_t ridx6 = 0; ridx6 < minimum_i64((alu7-(ridx5*16)), 16); ridx6++) {
                float val0 = *(in0+(alu8+(ridx6*n11)));
                acc5 = (acc5+val0);
              }
              acc4 = (acc4+acc5);
            }
            acc3 = (acc3+acc4);
          }
          acc2 = (acc2+acc3);
        }
        acc1 = (acc1+acc2);
      }
      acc0 = (acc0+acc1);
    }
    *(out0+ridx0) = acc0;
  }
}
