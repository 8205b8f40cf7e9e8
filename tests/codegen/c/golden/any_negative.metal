#include <metal_stdlib>
using namespace metal;
kernel void any_negative(device bool* out0, const device float* in0, constant long& n0, constant long& n1, constant long& iterations, uint3 tid [[thread_position_in_grid]]) {
  long ridx0 = tid.x;
  if (ridx0 < iterations) {
    bool acc0 = false;
    for (long ridx1 = 0; ridx1 < n0; ridx1++) {
      float val0 = *(in0+((ridx1*n1)+ridx0));
      acc0 = (acc0||(val0<0.0f));
    }
    *(out0+ridx0) = acc0;
  }
}
