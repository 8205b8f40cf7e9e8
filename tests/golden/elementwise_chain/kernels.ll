define void @sqrt(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 3
  %v8 = load i64, ptr %v7
  %v20 = getelementptr inbounds i64, ptr %args, i64 1
  %v21 = load ptr, ptr %v20
  %v25 = getelementptr inbounds i64, ptr %args, i64 2
  %v26 = load ptr, ptr %v25
  %v35 = getelementptr inbounds i64, ptr %args, i64 0
  %v36 = load ptr, ptr %v35
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v61, %b43 ]
  %v9 = mul i64 %v6, %v8
  %v10 = icmp sgt i64 %v8, 0
  %v11 = select i1 %v10, i64 %v8, i64 0
  %v12 = add i64 0, %v11
  %v13 = and i64 %v11, -8
  %v14 = add i64 0, %v13
  %v17 = icmp slt i64 0, %v14
  br i1 %v17, label %b15, label %b16
b15:
  %v18 = phi i64 [ 0, %b3 ], [ %v38, %b15 ]
  %v19 = add i64 %v9, %v18
  %v22 = getelementptr inbounds float, ptr %v21, i64 %v19
  %v23 = load <8 x float>, ptr %v22, align 4
  %v24 = fmul <8 x float> %v23, splat (float 0x4000000000000000)
  %v27 = getelementptr inbounds float, ptr %v26, i64 %v18
  %v28 = load <8 x float>, ptr %v27, align 4
  %v29 = fadd <8 x float> %v24, %v28
  %v30 = fcmp ogt <8 x float> splat (float 0x0000000000000000), %v29
  %v31 = select <8 x i1> %v30, <8 x float> splat (float 0x0000000000000000), <8 x float> %v29
  %v32 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %v28)
  %v33 = fsub <8 x float> %v31, %v32
  %v34 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %v33)
  %v37 = getelementptr inbounds float, ptr %v36, i64 %v19
  store <8 x float> %v34, ptr %v37, align 4
  %v38 = add i64 %v18, 8
  %v39 = icmp slt i64 %v38, %v14
  br i1 %v39, label %b15, label %b16, !llvm.loop !2
b16:
  %v40 = sub i64 %v12, %v14
  %v41 = icmp sgt i64 %v40, 0
  br i1 %v41, label %b42, label %b43
b42:
  %v44 = trunc i64 %v40 to i32
  %v45 = insertelement <8 x i32> poison, i32 %v44, i64 0
  %v46 = shufflevector <8 x i32> %v45, <8 x i32> poison, <8 x i32> zeroinitializer
  %v47 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v46
  %v48 = add i64 %v9, %v14
  %v49 = getelementptr float, ptr %v21, i64 %v48
  %v50 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v49, i32 4, <8 x i1> %v47, <8 x float> zeroinitializer)
  %v51 = fmul <8 x float> %v50, splat (float 0x4000000000000000)
  %v52 = getelementptr float, ptr %v26, i64 %v14
  %v53 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v52, i32 4, <8 x i1> %v47, <8 x float> zeroinitializer)
  %v54 = fadd <8 x float> %v51, %v53
  %v55 = fcmp ogt <8 x float> splat (float 0x0000000000000000), %v54
  %v56 = select <8 x i1> %v55, <8 x float> splat (float 0x0000000000000000), <8 x float> %v54
  %v57 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %v53)
  %v58 = fsub <8 x float> %v56, %v57
  %v59 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %v58)
  %v60 = getelementptr float, ptr %v36, i64 %v48
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v59, ptr %v60, i32 4, <8 x i1> %v47)
  br label %b43
b43:
  %v61 = add i64 %v6, 1
  %v62 = icmp slt i64 %v61, %v2
  br i1 %v62, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare <8 x float> @llvm.fabs.v8f32(<8 x float>)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
