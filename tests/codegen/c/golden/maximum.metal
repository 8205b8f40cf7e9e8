#include <metal_stdlib>
using namespace metal;

static inline int maximum_i32(int a, int b) { return a > b ? a : b; }

kernel void maximum(device int* out0, const device int* in0, const device int* in1, constant long& n0, constant long& n1, constant long& iterations, uint3 tid [[thread_position_in_grid]]) {
  long ridx0 = tid.x;
  if (ridx0 < iterations) {
    long alu0 = (ridx0*n0);
    for (long ridx1 = 0; ridx1 < n0; ridx1++) {
      long alu1 = (alu0+ridx1);
      int val0 = *(in0+alu1);
      int val1 = *(in1+(alu0+(ridx1*(-1L))+n1));
      *(out0+alu1) = maximum_i32(val0, val1);
    }
  }
}
