extern "C" __global__ void contract(float* out0, const float* in0, const float* in1, long long n0, long long n1, long long n2, long long n3, long long n4, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = (ridx0%n0);
    long long alu1 = (alu0*n0);
    long long alu2 = (ridx0/n0);
    long long alu3 = (alu2*n1);
    long long alu4 = ((alu2*n2)+alu1);
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      float acc0 = 0.0f;
      for (long long ridx2 = 0; ridx2 < n3; ridx2++) {
        long long alu5 = (ridx2*n2);
        long long alu6 = (ridx2*n0);
        for (long long ridx3 = 0; ridx3 < n3; ridx3++) {
          long long alu7 = (ridx3+alu0+(-1LL));
          bool alu8 = ((0<=alu7)&&(alu7<n0));
          long long alu9 = (alu5+(ridx3*n0));
          long long alu10 = (alu6+(ridx3*n3));
          for (long long ridx4 = 0; ridx4 < n3; ridx4++) {
            long long alu11 = (ridx4+ridx1+(-1LL));
            bool alu12 = ((alu8&&(0<=alu11))&&(alu11<n0));
            float val0 = (alu12?*(in0+(alu9+ridx4+alu1+ridx1+n4)):0.0f);
            float val1 = *(in1+(alu10+ridx4+alu3));
            acc0 = (acc0+((alu12?val0:0.0f)*val1));
          }
        }
      }
      *(out0+(alu4+ridx1)) = acc0;
    }
  }
}
