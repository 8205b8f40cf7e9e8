#include <metal_stdlib>
using namespace metal;
kernel void half_(device half* out0, const device half* in0, constant float& n0, constant long& iterations, uint3 tid [[thread_position_in_grid]]) {
  long ridx0 = tid.x;
  if (ridx0 < iterations) {
    half val0 = *(in0+ridx0);
    *(out0+ridx0) = (half)((float)val0*n0);
  }
}
