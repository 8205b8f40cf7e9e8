__device__ static inline long long maximum_i64(long long a, long long b) { return a > b ? a : b; }
__device__ static inline long long minimum_i64(long long a, long long b) { return a < b ? a : b; }

extern "C" __global__ void cast_(long long* out0, const int* in0, long long n0, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = (ridx0*n0);
    int val0 = *(in0+ridx0);
    long long alu1 = (long long)val0;
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      *(out0+(alu0+ridx1)) = alu1;
    }
  }
}

extern "C" __global__ void expand(int* out0, long long n0, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = (ridx0*n0);
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      *(out0+(alu0+ridx1)) = ((int)(ridx1+1)-1);
    }
  }
}

extern "C" __global__ void gather(float* out0, const float* in0, const int* in1, long long* flag, long long n0, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    int val0 = *(in1+ridx0);
    long long alu0 = (long long)((val0<0)?(int)((unsigned int)val0+10u):val0);
    bool alu1 = ((alu0<10)&&(0<=alu0));
    if (!alu1) { *(flag+0) = (maximum_i64(alu0, (-36028797018963968LL))+108086391056891904LL); }
    long long alu2 = (ridx0*n0);
    long long alu3 = ((alu1?alu0:0LL)*n0);
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      float val1 = *(in0+(ridx1+alu3));
      *(out0+(alu2+ridx1)) = val1;
    }
  }
}

extern "C" __global__ void scatter_add_10_4(float* out, const float* x, const long long* index0, const int* index1, const float* updates, long long* flag) {
  for (long long ridx0 = 0; ridx0 < 40; ridx0++) {
    float val0 = *(x+ridx0);
    *(out+ridx0) = val0;
  }
  long long acc0 = 0;
  long long acc1 = 0;
  for (long long ridx1 = 0; ridx1 < 24; ridx1++) {
    long long val1 = *(index0+ridx1);
    long long alu0 = ((val1<0)?(long long)((unsigned long long)val1+10uLL):val1);
    bool alu1 = ((alu0<10)&&(0<=alu0));
    long long alu2 = maximum_i64(minimum_i64(alu0, 36028797018963967LL), (-36028797018963968LL));
    acc0 = ((alu1||(acc0!=0))?acc0:(alu2+108086391056891904LL));
    int val2 = *(index1+ridx1);
    long long alu3 = (long long)val2;
    bool alu4 = ((alu3<4)&&(0<=alu3));
    acc1 = ((alu4||(acc1!=0))?acc1:(alu3+180143985094819840LL));
    long long alu5 = (long long)(((unsigned long long)alu0*4uLL)+(unsigned long long)alu3);
    if (alu1&&alu4) {
      float val3 = *(updates+ridx1);
      float val4 = *(out+alu5);
      *(out+alu5) = (val4+val3);
    }
  }
  long long alu6 = ((acc0!=0)?acc0:acc1);
  if (alu6!=0) { *(flag+0) = alu6; }
}
