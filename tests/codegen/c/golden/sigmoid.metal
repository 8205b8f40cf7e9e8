#include <metal_stdlib>
using namespace metal;

static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }

kernel void sigmoid(device float* out0, const device float* in0, constant long& iterations, uint3 tid [[thread_position_in_grid]]) {
  long ridx0 = tid.x;
  if (ridx0 < iterations) {
    float val0 = *(in0+ridx0);
    float alu0 = maximum_f32((-105.0f), (-fabs(val0)));
    float alu1 = fma(alu0, 1.442695f, 1.2582912e+07f);
    float alu2 = (alu1-1.2582912e+07f);
    float alu3 = fma(alu2, 1.9046542e-09f, fma(alu2, (-0.6931472f), alu0));
    float alu4 = fma(fma(fma(0.001392625f, alu3, 0.008363233f), alu3, 0.041666552f), alu3, 0.16666576f);
    float alu5 = (fma(fma(fma(alu4, alu3, 0.5f), alu3, 1.0f), alu3, 1.0f)*as_type<float>((int)(((uint)as_type<int>(alu1)+191u)<<23u)));
    float alu6 = (alu5*5.421011e-20f);
    float alu7 = ((val0<0.0f)?alu6:1.0f);
    *(out0+ridx0) = fma((-alu7), (alu6/(alu6+1.0f)), alu7);
  }
}
