#include <metal_stdlib>
using namespace metal;
kernel void padded(device float* out0, const device float* in0, constant long& n0, constant long& n1, constant long& n2, constant long& n3, constant long& n4, constant long& iterations, uint3 tid [[thread_position_in_grid]]) {
  long ridx0 = tid.x;
  if (ridx0 < iterations) {
    long alu0 = (ridx0*n0);
    long alu1 = (ridx0+(-1L));
    bool alu2 = ((0<=alu1)&&(alu1<n1));
    long alu3 = (ridx0*n2);
    for (long ridx1 = 0; ridx1 < n0; ridx1++) {
      long alu4 = (ridx1+n3);
      bool alu5 = ((alu2&&(0<=alu4))&&(alu4<n2));
      float val0 = (alu5?*(in0+(alu3+ridx1+n4)):0.0f);
      *(out0+(alu0+ridx1)) = (alu5?val0:0.0f);
    }
  }
}
