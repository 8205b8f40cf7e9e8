__device__ static inline float minimum_f32(float a, float b) { return a < b || a != a ? a : b; }

extern "C" __global__ void mul(float* out0, const float* in0, const float* in1, const float* in2, const float* in3, long long n0, float n1, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    float acc0 = 0.0f;
    long long alu0 = (ridx0/2);
    long long alu1 = (alu0*n0);
    long long alu2 = (ridx0%2);
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      float val0 = *(in0+(ridx1+alu1));
      float val1 = *(in1+((ridx1*2)+alu2));
      acc0 = (acc0+(val0*val1));
    }
    long long alu3 = ((alu0*2)+alu2);
    float val2 = *(in2+alu2);
    float alu4 = (acc0+val2);
    float alu5 = fabsf(alu4);
    float alu6 = (alu4*alu4);
    float alu7 = fmaf(fmaf(fmaf(0.0022896263f, alu6, (-0.008341189f)), alu6, 0.021768076f), alu6, (-0.053959157f));
    float alu8 = fmaf((fmaf(fmaf(alu7, alu6, 0.13333303f), alu6, (-0.33333334f))*alu6), alu5, alu5);
    float alu9 = minimum_f32(9.1f, alu5);
    float alu10 = (alu9+alu9);
    float alu11 = fmaf(alu10, 1.442695f, 1.2583038e+07f);
    float alu12 = (alu11-1.2583038e+07f);
    float alu13 = fmaf(alu12, 1.9046542e-09f, fmaf(alu12, (-0.6931472f), alu10));
    float alu14 = fmaf(fmaf(fmaf(0.001392625f, alu13, 0.008363233f), alu13, 0.041666552f), alu13, 0.16666576f);
    float alu15 = fmaf(fmaf(fmaf(fmaf(alu14, alu13, 0.5f), alu13, 1.0f), alu13, 1.0f), __int_as_float((int)((unsigned int)__float_as_int(alu11)<<23u)), 0.5f);
    float alu16 = copysignf(((alu5<0.625f)?alu8:(1.0f-(1/alu15))), alu4);
    float val3 = *(in3+alu3);
    *(out0+alu3) = (n1*(2.0f*(alu16-val3))*(1.0f-(alu16*alu16)));
  }
}

extern "C" __global__ void sub(float* out0, const float* in0, const float* in1, const float* in2, long long n0, long long n1, float n2, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    float acc0 = 0.0f;
    long long alu0 = (ridx0/2);
    long long alu1 = (ridx0%2);
    float acc0_lanes[8];
    for (int k = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      long long lane0 = ridx1%8;
      float val0 = *(in1+((ridx1*n1)+alu0));
      float val1 = *(in2+((ridx1*2)+alu1));
      acc0_lanes[lane0] = (acc0_lanes[lane0]+(val0*val1));
    }
    for (int n = 4; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    long long alu2 = ((alu0*2)+alu1);
    float val2 = *(in0+alu2);
    *(out0+alu2) = (val2-(n2*acc0));
  }
}

extern "C" __global__ void sub_1(float* out0, const float* in0, const float* in1, long long n0, float n1, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    float acc0 = 0.0f;
    float acc0_lanes[8];
    for (int k = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
    for (long long ridx1 = 0; ridx1 < n0; ridx1++) {
      long long lane0 = ridx1%8;
      float val0 = *(in1+(ridx0+(ridx1*2)));
      acc0_lanes[lane0] = (acc0_lanes[lane0]+val0);
    }
    for (int n = 4; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    float val1 = *(in0+ridx0);
    *(out0+ridx0) = (val1-(n1*acc0));
  }
}
