@group(0) @binding(0) var<storage, read_write> out0: array<i32>;
@group(0) @binding(1) var<storage, read> in0: array<i32>;
@group(0) @binding(2) var<storage, read> in1: array<i32>;
struct Given { n0: vec2<i32>, n1: vec2<i32>, iterations: vec2<i32> }
@group(0) @binding(3) var<uniform> given: Given;

@compute @workgroup_size(1) fn maximum(@builtin(global_invocation_id) tid: vec3<u32>) {
  let n0: i32 = given.n0.x;
  let n1: i32 = given.n1.x;
  let iterations: i32 = given.iterations.x;
  let ridx0: i32 = i32(tid.x);
  if (ridx0 < iterations) {
    let alu0: i32 = (ridx0*n0);
    for (var ridx1: i32 = 0; ridx1 < n0; ridx1++) {
      let alu1: i32 = (alu0+ridx1);
      let val0: i32 = in0[alu1];
      let val1: i32 = in1[(alu0+(ridx1*(-1))+n1)];
      out0[alu1] = max(val0, val1);
    }
  }
}
