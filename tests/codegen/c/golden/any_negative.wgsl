@group(0) @binding(0) var<storage, read_write> out0: array<u32>;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
struct Given { n0: vec2<i32>, n1: vec2<i32>, iterations: vec2<i32> }
@group(0) @binding(2) var<uniform> given: Given;

@compute @workgroup_size(1) fn any_negative(@builtin(global_invocation_id) tid: vec3<u32>) {
  let n0: i32 = given.n0.x;
  let n1: i32 = given.n1.x;
  let iterations: i32 = given.iterations.x;
  let ridx0: i32 = i32(tid.x);
  if (ridx0 < iterations) {
    var acc0: bool = false;
    for (var ridx1: i32 = 0; ridx1 < n0; ridx1++) {
      let val0: f32 = in0[((ridx1*n1)+ridx0)];
      acc0 = (acc0||(val0<0.0f));
    }
    out0[ridx0] = u32(acc0);
  }
}
