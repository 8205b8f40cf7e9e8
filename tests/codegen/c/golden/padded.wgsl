@group(0) @binding(0) var<storage, read_write> out0: array<f32>;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
struct Given { n0: vec2<i32>, n1: vec2<i32>, n2: vec2<i32>, n3: vec2<i32>, n4: vec2<i32>, iterations: vec2<i32> }
@group(0) @binding(2) var<uniform> given: Given;

@compute @workgroup_size(1) fn padded(@builtin(global_invocation_id) tid: vec3<u32>) {
  let n0: i32 = given.n0.x;
  let n1: i32 = given.n1.x;
  let n2: i32 = given.n2.x;
  let n3: i32 = given.n3.x;
  let n4: i32 = given.n4.x;
  let iterations: i32 = given.iterations.x;
  let ridx0: i32 = i32(tid.x);
  if (ridx0 < iterations) {
    let alu0: i32 = (ridx0*n0);
    let alu1: i32 = (ridx0+(-1));
    let alu2: bool = ((0<=alu1)&&(alu1<n1));
    let alu3: i32 = (ridx0*n2);
    for (var ridx1: i32 = 0; ridx1 < n0; ridx1++) {
      let alu4: i32 = (ridx1+n3);
      let alu5: bool = ((alu2&&(0<=alu4))&&(alu4<n2));
      let val0: f32 = select(0.0f, in0[(alu3+ridx1+n4)], alu5);
      out0[(alu0+ridx1)] = select(0.0f, val0, alu5);
    }
  }
}
