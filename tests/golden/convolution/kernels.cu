extern "C" __global__ void permute(float* out0, const float* in0, long long n0, long long n1, long long n2, long long n3, long long n4, long long n5, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = (ridx0/n0);
    long long alu1 = ((ridx0/n2)%n2);
    long long alu2 = ((ridx0/n4)%n4);
    long long alu3 = (ridx0%n4);
    long long alu4 = ((alu0*n1)+(alu1*n3)+(alu2*n2)+(alu3*n4));
    long long alu5 = (alu0+alu3+(-1LL));
    bool alu6 = ((0<=alu5)&&(alu5<n2));
    long long alu7 = ((alu0*n2)+alu1+(alu2*n0)+(alu3*n2));
    for (long long ridx1 = 0; ridx1 < n4; ridx1++) {
      long long alu8 = (alu1+ridx1+(-1LL));
      bool alu9 = ((alu6&&(0<=alu8))&&(alu8<n2));
      float val0 = (alu9?*(in0+(alu7+ridx1+n5)):0.0f);
      *(out0+(alu4+ridx1)) = (alu9?val0:0.0f);
    }
  }
}

extern "C" __global__ void permute_1(float* out0, const float* in0, long long n0, long long n1, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = (ridx0*n0);
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      float val0 = *(in0+(ridx0+(ridx1*n1)));
      *(out0+(alu0+ridx1)) = val0;
    }
  }
}
