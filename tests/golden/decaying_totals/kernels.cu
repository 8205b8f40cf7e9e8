extern "C" __global__ void mul(float* out0, const float* in0, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    float val0 = *(in0+ridx0);
    *(out0+ridx0) = (val0*0.0f);
  }
}

extern "C" __global__ void add(float* out0, const float* in0, const float* in1, float n0, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    float val0 = *(in0+ridx0);
    float val1 = *(in1+ridx0);
    *(out0+ridx0) = ((val0*n0)+val1);
  }
}
