__device__ static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }

extern "C" __global__ void sqrt_(float* out0, const float* in0, const float* in1, long long n0, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = (ridx0*n0);
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      long long alu1 = (alu0+ridx1);
      float val0 = *(in0+alu1);
      float val1 = *(in1+ridx1);
      *(out0+alu1) = sqrtf((maximum_f32(0.0f, ((val0*2.0f)+val1))-fabsf(val1)));
    }
  }
}
