__device__ static inline long long minimum_i64(long long a, long long b) { return a < b ? a : b; }

extern "C" __global__ void scan_sum_100_5(float* out, const float* x) {
  for (long long ridx0 = 0; ridx0 < 5; ridx0++) {
    double acc0 = -0.0;
    for (long long ridx1 = 0; ridx1 < 7; ridx1++) {
      double acc1 = -0.0;
      long long alu0 = (ridx1*16);
      for (long long ridx2 = 0; ridx2 < minimum_i64((100-alu0), 16); ridx2++) {
        long long alu1 = (((alu0+ridx2)*5)+ridx0);
        float val0 = *(x+alu1);
        acc1 = (acc1+(double)val0);
        *(out+alu1) = (float)((-0.0)+acc0+acc1);
      }
      acc0 = (acc0+acc1);
    }
  }
}
