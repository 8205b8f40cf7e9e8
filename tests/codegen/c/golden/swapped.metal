#include <metal_stdlib>
using namespace metal;
kernel void swapped(device float* data0, const device float* data1, uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]) {
  int gidx0 = gid.x; /* 4 */
  int lidx0 = lid.x; /* 8 */
  threadgroup float temp[8];
  int alu0 = ((gidx0*8)+lidx0);
  float val0 = *(data1+alu0);
  *(temp+lidx0) = val0;
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  float val1 = *(temp+(7-lidx0));
  *(data0+alu0) = val1;
}
