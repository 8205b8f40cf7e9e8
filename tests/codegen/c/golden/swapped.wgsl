@group(0) @binding(0) var<storage, read_write> data0: array<f32>;
@group(0) @binding(1) var<storage, read> data1: array<f32>;
var<workgroup> temp: array<f32, 8>;

@compute @workgroup_size(8) fn swapped(@builtin(workgroup_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let gidx0: i32 = i32(gid.x); /* 4 */
  let lidx0: i32 = i32(lid.x); /* 8 */
  let alu0: i32 = ((gidx0*8)+lidx0);
  let val0: f32 = data1[alu0];
  temp[lidx0] = val0;
  workgroupBarrier(); storageBarrier();
  let val1: f32 = temp[(7-lidx0)];
  data0[alu0] = val1;
}
