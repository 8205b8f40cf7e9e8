define void @scan_sum_100_5(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v19 = getelementptr inbounds i64, ptr %args, i64 1
  %v20 = load ptr, ptr %v19
  %v26 = getelementptr inbounds i64, ptr %args, i64 0
  %v27 = load ptr, ptr %v26
  %v1 = mul i64 0, 8
  %v2 = sub i64 5, %v1
  %v3 = call i64 @llvm.smin.i64(i64 %v2, i64 8)
  %v4 = icmp sgt i64 %v3, 0
  %v5 = select i1 %v4, i64 %v3, i64 0
  %v6 = add i64 0, %v5
  %v7 = and i64 %v5, -8
  %v8 = add i64 0, %v7
  %v11 = icmp slt i64 0, %v8
  br i1 %v11, label %b9, label %b10
b9:
  %v12 = phi i64 [ 0, %start ], [ %v31, %b14 ]
  br label %b13
b13:
  %v15 = phi i64 [ 0, %b9 ], [ %v29, %b13 ]
  %v16 = phi <8 x double> [ splat (double 0x8000000000000000), %b9 ], [ %v24, %b13 ]
  %v17 = mul i64 %v15, 5
  %v18 = add i64 %v12, %v17
  %v21 = getelementptr inbounds float, ptr %v20, i64 %v18
  %v22 = load <8 x float>, ptr %v21, align 4
  %v23 = fpext <8 x float> %v22 to <8 x double>
  %v24 = fadd <8 x double> %v16, %v23
  %v25 = fptrunc <8 x double> %v24 to <8 x float>
  %v28 = getelementptr inbounds float, ptr %v27, i64 %v18
  store <8 x float> %v25, ptr %v28, align 4
  %v29 = add i64 %v15, 1
  %v30 = icmp slt i64 %v29, 100
  br i1 %v30, label %b13, label %b14, !llvm.loop !2
b14:
  %v31 = add i64 %v12, 8
  %v32 = icmp slt i64 %v31, %v8
  br i1 %v32, label %b9, label %b10, !llvm.loop !3
b10:
  %v33 = sub i64 %v6, %v8
  %v34 = icmp sgt i64 %v33, 0
  br i1 %v34, label %b35, label %b36
b35:
  %v37 = trunc i64 %v33 to i32
  %v38 = insertelement <8 x i32> poison, i32 %v37, i64 0
  %v39 = shufflevector <8 x i32> %v38, <8 x i32> poison, <8 x i32> zeroinitializer
  %v40 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v39
  br label %b41
b41:
  %v43 = phi i64 [ 0, %b35 ], [ %v53, %b41 ]
  %v44 = phi <8 x double> [ splat (double 0x8000000000000000), %b35 ], [ %v50, %b41 ]
  %v45 = mul i64 %v43, 5
  %v46 = add i64 %v8, %v45
  %v47 = getelementptr float, ptr %v20, i64 %v46
  %v48 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v47, i32 4, <8 x i1> %v40, <8 x float> zeroinitializer)
  %v49 = fpext <8 x float> %v48 to <8 x double>
  %v50 = fadd <8 x double> %v44, %v49
  %v51 = fptrunc <8 x double> %v50 to <8 x float>
  %v52 = getelementptr float, ptr %v27, i64 %v46
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v51, ptr %v52, i32 4, <8 x i1> %v40)
  %v53 = add i64 %v43, 1
  %v54 = icmp slt i64 %v53, 100
  br i1 %v54, label %b41, label %b42, !llvm.loop !4
b42:
  br label %b36
b36:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
!4 = distinct !{!4, !0, !1}
