#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float u32_as_f32(uint32_t x) { float y; memcpy(&y, &x, sizeof y); return y; }

void mul(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  int64_t n0 = args[2];
  int64_t n1 = args[3];
  int64_t n2 = args[4];
  float n3 = u32_as_f32((uint32_t)args[5]);
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0*n0);
    int64_t alu1 = (ridx0*n1);
    int64_t alu2 = (alu1+n2);
    bool alu3 = ((0<=alu2)&&(alu2<n2));
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      float val0 = (alu3?*(in0+(alu1+(ridx1*n2)+n2)):0.0f);
      *(out0+(alu0+ridx1)) = ((alu3?val0:0.0f)*n3);
    }
  }
}
