@group(0) @binding(0) var<storage, read_write> data0: array<f32>;
@group(0) @binding(1) var<storage, read> data1: array<f32>;
@group(0) @binding(2) var<storage, read> data2: array<f32>;

@compute @workgroup_size(1) fn saxpy(@builtin(workgroup_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let gidx0: i32 = i32(gid.x); /* 256 */
  let val0: f32 = data1[gidx0];
  let val1: f32 = data2[gidx0];
  data0[gidx0] = ((2.5f*val0)+val1);
}
