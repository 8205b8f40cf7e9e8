@group(0) @binding(0) var<storage, read_write> out0: array<f32>;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
struct Given { n0: vec2<i32>, n1: vec2<i32>, iterations: vec2<i32> }
@group(0) @binding(2) var<uniform> given: Given;

@compute @workgroup_size(1) fn row_sum(@builtin(global_invocation_id) tid: vec3<u32>) {
  let n0: i32 = given.n0.x;
  let n1: i32 = given.n1.x;
  let iterations: i32 = given.iterations.x;
  let ridx0: i32 = i32(tid.x);
  if (ridx0 < iterations) {
    let alu0: i32 = (ridx0*n0);
    var acc0: f32 = 0.0f;
    var acc0_lanes: array<f32, 16>;
    for (var k: i32 = 0; k < 16; k++) { acc0_lanes[k] = acc0; }
    for (var ridx1: i32 = 0; ridx1 < 16; ridx1++) {
      let lane0: i32 = ridx1%16;
      var acc1: f32 = 0.0f;
      let alu1: i32 = (alu0+ridx1);
      let alu2: bool = ((ridx1+n1)<n0);
      let val0: f32 = select(0.0f, in0[(alu1+n1)], alu2);
      let alu3: f32 = select(0.0f, (val0*2.0f), alu2);
      for (var ridx2: i32 = 0; ridx2 < 2; ridx2++) {
        let val1: f32 = in0[(alu1+(ridx2*16))];
        acc1 = (acc1+(val1*2.0f));
      }
      var acc2: f32 = acc1;
      for (var ridx3: i32 = 0; ridx3 < 1; ridx3++) {
        acc2 = (acc2+alu3);
      }
      acc0_lanes[lane0] = (acc0_lanes[lane0]+acc2);
    }
    for (var n: i32 = 8; n > 0; n = n/2) { for (var k: i32 = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    out0[ridx0] = acc0;
  }
}
