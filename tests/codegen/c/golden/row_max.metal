#include <metal_stdlib>
using namespace metal;

static inline int maximum_i32(int a, int b) { return a > b ? a : b; }

kernel void row_max(device int* data0, const device int* data1, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 4 */
  int acc0 = (-2147483647-1);
  for (int ridx0 = 0; ridx0 < 10; ridx0++) {
    int val0 = *(data1+((gidx0*10)+ridx0));
    acc0 = maximum_i32(acc0, val0);
  }
  *(data0+gidx0) = acc0;
}
