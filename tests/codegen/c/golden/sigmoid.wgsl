@group(0) @binding(0) var<storage, read_write> out0: array<f32>;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
struct Given { iterations: vec2<i32> }
@group(0) @binding(2) var<uniform> given: Given;
fn maximum_f32(a: f32, b: f32) -> f32 { return select(b, a, a > b || a != a); }

@compute @workgroup_size(1) fn sigmoid(@builtin(global_invocation_id) tid: vec3<u32>) {
  let iterations: i32 = given.iterations.x;
  let ridx0: i32 = i32(tid.x);
  if (ridx0 < iterations) {
    let val0: f32 = in0[ridx0];
    let alu0: f32 = maximum_f32((-105.0f), (-abs(val0)));
    let alu1: f32 = fma(alu0, 1.442695f, 1.2582912e+07f);
    let alu2: f32 = (alu1-1.2582912e+07f);
    let alu3: f32 = fma(alu2, 1.9046542e-09f, fma(alu2, (-0.6931472f), alu0));
    let alu4: f32 = fma(fma(fma(0.001392625f, alu3, 0.008363233f), alu3, 0.041666552f), alu3, 0.16666576f);
    let alu5: f32 = (fma(fma(fma(alu4, alu3, 0.5f), alu3, 1.0f), alu3, 1.0f)*bitcast<f32>(((bitcast<i32>(alu1)+191)<<u32(23))));
    let alu6: f32 = (alu5*5.421011e-20f);
    let alu7: f32 = select(1.0f, alu6, (val0<0.0f));
    out0[ridx0] = fma((-alu7), (alu6/(alu6+1.0f)), alu7);
  }
}
