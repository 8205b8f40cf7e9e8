@group(0) @binding(0) var<storage, read_write> data0: array<i32>;
@group(0) @binding(1) var<storage, read> data1: array<i32>;

@compute @workgroup_size(1) fn row_max(@builtin(workgroup_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let gidx0: i32 = i32(gid.x); /* 4 */
  var acc0: i32 = (-2147483647-1);
  for (var ridx0: i32 = 0; ridx0 < 10; ridx0++) {
    let val0: i32 = data1[((gidx0*10)+ridx0)];
    acc0 = max(acc0, val0);
  }
  data0[gidx0] = acc0;
}
