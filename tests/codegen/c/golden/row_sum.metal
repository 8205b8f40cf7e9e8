#include <metal_stdlib>
using namespace metal;
kernel void row_sum(device float* out0, const device float* in0, constant long& n0, constant long& n1, constant long& iterations, uint3 tid [[thread_position_in_grid]]) {
  long ridx0 = tid.x;
  if (ridx0 < iterations) {
    long alu0 = (ridx0*n0);
    float acc0 = 0.0f;
    float acc0_lanes[16];
    for (int k = 0; k < 16; k++) { acc0_lanes[k] = acc0; }
    for (long ridx1 = 0; ridx1 < 16; ridx1++) {
      long lane0 = ridx1%16;
      float acc1 = 0.0f;
      long alu1 = (alu0+ridx1);
      bool alu2 = ((ridx1+n1)<n0);
      float val0 = (alu2?*(in0+(alu1+n1)):0.0f);
      float alu3 = (alu2?(val0*2.0f):0.0f);
      for (long ridx2 = 0; ridx2 < 2; ridx2++) {
        float val1 = *(in0+(alu1+(ridx2*16)));
        acc1 = (acc1+(val1*2.0f));
      }
      float acc2 = acc1;
      for (long ridx3 = 0; ridx3 < 1; ridx3++) {
        acc2 = (acc2+alu3);
      }
      acc0_lanes[lane0] = (acc0_lanes[lane0]+acc2);
    }
    for (int n = 8; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    *(out0+ridx0) = acc0;
  }
}
