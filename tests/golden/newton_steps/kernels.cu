__device__ static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }

extern "C" __global__ void add(float* out0, const float* in0, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    float val0 = *(in0+ridx0);
    *(out0+ridx0) = (val0+1.0f);
  }
}

extern "C" __global__ void lt(bool* out0, const float* in0, const float* in1, long long n0, float n1) {
  float acc0 = (-__int_as_float(0x7f800000));
  float acc0_lanes[8];
  for (int k = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
  for (long long ridx0 = 0; ridx0 < n0; ridx0++) {
    long long lane0 = ridx0%8;
    float val0 = *(in0+ridx0);
    float val1 = *(in1+ridx0);
    acc0_lanes[lane0] = maximum_f32(acc0_lanes[lane0], fabsf(((val0*val0)-val1)));
  }
  for (int n = 4; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = maximum_f32(acc0_lanes[k], acc0_lanes[k+n]); } }
  acc0 = acc0_lanes[0];
  *(out0+0) = (n1<acc0);
}

extern "C" __global__ void mul(float* out0, const float* in0, const float* in1, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    float val0 = *(in0+ridx0);
    float val1 = *(in1+ridx0);
    *(out0+ridx0) = ((val0+(val1/val0))*0.5f);
  }
}
