#include <stdint.h>
#include <string.h>

static inline float u32_as_f32(uint32_t x) { float y; memcpy(&y, &x, sizeof y); return y; }
static inline uint32_t f32_as_u32(float x) { uint32_t y; memcpy(&y, &x, sizeof y); return y; }
static inline uint16_t f32_to_f16(float x) {
  uint32_t bits = f32_as_u32(x), size = bits&0x7fffffffu, sign = (bits>>16)&0x8000u;
  if (size > 0x7f800000u) { return (uint16_t)(sign|0x7e00u|((size>>13)&0x3ffu)); }
  if (size >= 0x47800000u) { return (uint16_t)(sign|0x7c00u); }
  if (size < 0x38800000u) { return (uint16_t)(sign|(f32_as_u32(u32_as_f32(size)+0.5f)-0x3f000000u)); }
  return (uint16_t)(sign|((size-0x38000000u+0xfffu+((size>>13)&1u))>>13));
}
static inline float f16_to_f32(uint16_t x) {
  uint32_t size = (uint32_t)(x&0x7fff)<<13, sign = (uint32_t)(x&0x8000)<<16;
  if (size > 0xf800000u) { return u32_as_f32(size|0x7fc00000u|sign); }
  if (size == 0xf800000u) { return u32_as_f32(0x7f800000u|sign); }
  return u32_as_f32(f32_as_u32(u32_as_f32(size)*5192296858534827628530496329220096.0f)|sign);
}
static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline float minimum_f32(float a, float b) { return a < b || a != a ? a : b; }

void cast_(int64_t* args, int64_t begin, int64_t end) {
  int8_t* out0 = (int8_t*)args[0];
  const float* in0 = (const float*)args[1];
  const int* in1 = (const int*)args[2];
  float n0 = u32_as_f32((uint32_t)args[3]);
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float val0 = *(in0+ridx0);
    int val1 = *(in1+ridx0);
    int alu0 = (val1%3);
    int alu1 = (val1/3);
    int alu2 = ((((alu0!=0)&&((alu0^3)<0))?(int)((uint32_t)alu1-1u):alu1)%5);
    float alu3 = (f16_to_f32(f32_to_f16((f16_to_f32(f32_to_f16(val0))*n0)))+f16_to_f32(f32_to_f16((float)(((alu2!=0)&&((alu2^5)<0))?(alu2+5):alu2))));
    float alu4 = f16_to_f32(f32_to_f16(alu3));
    int8_t alu5 = (int8_t)((alu4!=alu4)?0.0f:minimum_f32(127.0f, maximum_f32((-128.0f), alu4)));
    *(out0+ridx0) = alu5;
  }
}
