extern "C" __global__ void argsort_4_20(float* values, long long* indices, const float* x, long long iterations) {
  int keys[20];
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = (ridx0*20);
    for (long long ridx1 = 0; ridx1 < 20; ridx1++) {
      float val0 = *(x+(alu0+ridx1));
      int alu1 = __float_as_int(val0);
      int alu2 = ((val0!=val0)?2147483647:((val0==0.0f)?0:(alu1^((alu1>>31)&2147483647))));
      *(keys+ridx1) = alu2;
    }
    for (long long ridx2 = 0; ridx2 < 20; ridx2++) {
      int val1 = *(keys+ridx2);
      int acc0 = 0;
      int alu3 = (int)ridx2;
      for (long long ridx3 = 0; ridx3 < 20; ridx3++) {
        int val2 = *(keys+ridx3);
        int alu4 = (int)((unsigned int)acc0+(unsigned int)(int)((val2<val1)||((val2==val1)&&((int)ridx3<alu3))));
        acc0 = alu4;
      }
      long long alu5 = (alu0+(long long)acc0);
      *(indices+alu5) = ridx2;
      float val3 = *(x+(alu0+ridx2));
      *(values+alu5) = val3;
    }
  }
}
