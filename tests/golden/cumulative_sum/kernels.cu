extern "C" __global__ void scan_sum_100_5(float* out, const float* x) {
  for (long long ridx0 = 0; ridx0 < 5; ridx0++) {
    double acc0 = -0.0;
    for (long long ridx1 = 0; ridx1 < 100; ridx1++) {
      long long alu0 = (ridx0+(ridx1*5));
      float val0 = *(x+alu0);
      acc0 = (acc0+(double)val0);
      *(out+alu0) = (float)acc0;
    }
  }
}
