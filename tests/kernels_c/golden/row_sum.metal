#include <metal_stdlib>
using namespace metal;
kernel void row_sum(device float* out0, const device float* in0, constant long& n0, constant long& iterations, uint3 tid [[thread_position_in_grid]]) {
  long ridx0 = tid.x;
  if (ridx0 < iterations) {
    float acc0 = 0.0f;
    long alu0 = (ridx0*n0);
    float acc0_lanes[8];
    for (int k = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
    for (long ridx1 = 0; ridx1 < n0; ridx1++) {
      long lane0 = ridx1%8;
      float val0 = *(in0+(ridx1+alu0));
      acc0_lanes[lane0] = (acc0_lanes[lane0]+(val0*2.0f));
    }
    for (int n = 4; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    *(out0+ridx0) = acc0;
  }
}
