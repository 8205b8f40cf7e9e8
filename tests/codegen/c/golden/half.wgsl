enable f16;

@group(0) @binding(0) var<storage, read_write> out0: array<f16>;
@group(0) @binding(1) var<storage, read> in0: array<f16>;
struct Given { n0: f32, iterations: vec2<i32> }
@group(0) @binding(2) var<uniform> given: Given;

@compute @workgroup_size(1) fn half_(@builtin(global_invocation_id) tid: vec3<u32>) {
  let n0: f32 = given.n0;
  let iterations: i32 = given.iterations.x;
  let ridx0: i32 = i32(tid.x);
  if (ridx0 < iterations) {
    let val0: f16 = in0[ridx0];
    out0[ridx0] = f16((f32(val0)*n0));
  }
}
