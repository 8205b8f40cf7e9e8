define void @scan_sum_100_5(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v16 = getelementptr inbounds i64, ptr %args, i64 1
  %v17 = load ptr, ptr %v16
  %v23 = getelementptr inbounds i64, ptr %args, i64 0
  %v24 = load ptr, ptr %v23
  %v1 = icmp sgt i64 5, 0
  %v2 = select i1 %v1, i64 5, i64 0
  %v3 = add i64 0, %v2
  %v4 = and i64 %v2, -8
  %v5 = add i64 0, %v4
  %v8 = icmp slt i64 0, %v5
  br i1 %v8, label %b6, label %b7
b6:
  %v9 = phi i64 [ 0, %start ], [ %v28, %b11 ]
  br label %b10
b10:
  %v12 = phi i64 [ 0, %b6 ], [ %v26, %b10 ]
  %v13 = phi <8 x double> [ splat (double 0x8000000000000000), %b6 ], [ %v21, %b10 ]
  %v14 = mul i64 %v12, 5
  %v15 = add i64 %v9, %v14
  %v18 = getelementptr inbounds float, ptr %v17, i64 %v15
  %v19 = load <8 x float>, ptr %v18, align 4
  %v20 = fpext <8 x float> %v19 to <8 x double>
  %v21 = fadd <8 x double> %v13, %v20
  %v22 = fptrunc <8 x double> %v21 to <8 x float>
  %v25 = getelementptr inbounds float, ptr %v24, i64 %v15
  store <8 x float> %v22, ptr %v25, align 4
  %v26 = add i64 %v12, 1
  %v27 = icmp slt i64 %v26, 100
  br i1 %v27, label %b10, label %b11, !llvm.loop !2
b11:
  %v28 = add i64 %v9, 8
  %v29 = icmp slt i64 %v28, %v5
  br i1 %v29, label %b6, label %b7, !llvm.loop !3
b7:
  %v30 = sub i64 %v3, %v5
  %v31 = icmp sgt i64 %v30, 0
  br i1 %v31, label %b32, label %b33
b32:
  %v34 = trunc i64 %v30 to i32
  %v35 = insertelement <8 x i32> poison, i32 %v34, i64 0
  %v36 = shufflevector <8 x i32> %v35, <8 x i32> poison, <8 x i32> zeroinitializer
  %v37 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v36
  br label %b38
b38:
  %v40 = phi i64 [ 0, %b32 ], [ %v50, %b38 ]
  %v41 = phi <8 x double> [ splat (double 0x8000000000000000), %b32 ], [ %v47, %b38 ]
  %v42 = mul i64 %v40, 5
  %v43 = add i64 %v5, %v42
  %v44 = getelementptr float, ptr %v17, i64 %v43
  %v45 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v44, i32 4, <8 x i1> %v37, <8 x float> zeroinitializer)
  %v46 = fpext <8 x float> %v45 to <8 x double>
  %v47 = fadd <8 x double> %v41, %v46
  %v48 = fptrunc <8 x double> %v47 to <8 x float>
  %v49 = getelementptr float, ptr %v24, i64 %v43
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v48, ptr %v49, i32 4, <8 x i1> %v37)
  %v50 = add i64 %v40, 1
  %v51 = icmp slt i64 %v50, 100
  br i1 %v51, label %b38, label %b39, !llvm.loop !4
b39:
  br label %b33
b33:
  ret void
}
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
!4 = distinct !{!4, !0, !1}
