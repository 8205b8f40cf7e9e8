@group(0) @binding(0) var<storage, read_write> out0: array<f32>;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
struct Given { n0: vec2<i32>, iterations: vec2<i32> }
@group(0) @binding(2) var<uniform> given: Given;

@compute @workgroup_size(1) fn row_sum(@builtin(global_invocation_id) tid: vec3<u32>) {
  let n0: i32 = given.n0.x;
  let iterations: i32 = given.iterations.x;
  let ridx0: i32 = i32(tid.x);
  if (ridx0 < iterations) {
    var acc0: f32 = 0.0f;
    let alu0: i32 = (ridx0*n0);
    var acc0_lanes: array<f32, 8>;
    for (var k: i32 = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
    for (var ridx1: i32 = 0; ridx1 < n0; ridx1++) {
      let lane0: i32 = ridx1%8;
      let val0: f32 = in0[(ridx1+alu0)];
      acc0_lanes[lane0] = (acc0_lanes[lane0]+(val0*2.0f));
    }
    for (var n: i32 = 4; n > 0; n = n/2) { for (var k: i32 = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    out0[ridx0] = acc0;
  }
}
