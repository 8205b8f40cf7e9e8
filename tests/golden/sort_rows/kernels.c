#include <stdint.h>
#include <string.h>

static inline int f32_as_i32(float x) { int y; memcpy(&y, &x, sizeof y); return y; }

void argsort_4_20(int64_t* args, int64_t begin, int64_t end) {
  float* values = (float*)args[0];
  int64_t* indices = (int64_t*)args[1];
  const float* x = (const float*)args[2];
  int keys[20];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0*20);
    for (int64_t ridx1 = 0; ridx1 < 20; ridx1++) {
      float val0 = *(x+(alu0+ridx1));
      int alu1 = f32_as_i32(val0);
      int alu2 = ((val0!=val0)?2147483647:((val0==0.0f)?0:(alu1^((alu1>>31)&2147483647))));
      *(keys+ridx1) = alu2;
    }
    for (int64_t ridx2 = 0; ridx2 < 20; ridx2++) {
      int val1 = *(keys+ridx2);
      int acc0 = 0;
      int alu3 = (int)ridx2;
      for (int64_t ridx3 = 0; ridx3 < 20; ridx3++) {
        int val2 = *(keys+ridx3);
        int alu4 = (int)((uint32_t)acc0+(uint32_t)(int)((val2<val1)||((val2==val1)&&((int)ridx3<alu3))));
        acc0 = alu4;
      }
      int64_t alu5 = (alu0+(int64_t)acc0);
      *(indices+alu5) = ridx2;
      float val3 = *(x+(alu0+ridx2));
      *(values+alu5) = val3;
    }
  }
}
