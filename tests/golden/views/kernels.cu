extern "C" __global__ void mul(float* out0, const float* in0, long long n0, long long n1, long long n2, float n3, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = (ridx0*n0);
    long long alu1 = (ridx0*n1);
    long long alu2 = (alu1+n2);
    bool alu3 = ((0<=alu2)&&(alu2<n2));
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      float val0 = (alu3?*(in0+(alu1+(ridx1*n2)+n2)):0.0f);
      *(out0+(alu0+ridx1)) = ((alu3?val0:0.0f)*n3);
    }
  }
}
