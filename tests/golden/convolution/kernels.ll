define void @permute(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 2
  %v8 = load i64, ptr %v7
  %v10 = getelementptr inbounds i64, ptr %args, i64 3
  %v11 = load i64, ptr %v10
  %v13 = getelementptr inbounds i64, ptr %args, i64 4
  %v14 = load i64, ptr %v13
  %v17 = getelementptr inbounds i64, ptr %args, i64 5
  %v18 = load i64, ptr %v17
  %v21 = getelementptr inbounds i64, ptr %args, i64 6
  %v22 = load i64, ptr %v21
  %v56 = getelementptr inbounds i64, ptr %args, i64 7
  %v57 = load i64, ptr %v56
  %v59 = getelementptr inbounds i64, ptr %args, i64 1
  %v60 = load ptr, ptr %v59
  %v66 = getelementptr inbounds i64, ptr %args, i64 0
  %v67 = load ptr, ptr %v66
  %spare = alloca [4 x i8], align 64
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v71, %b45 ]
  %v9 = udiv i64 %v6, %v8
  %v12 = mul i64 %v9, %v11
  %v15 = udiv i64 %v6, %v14
  %v16 = urem i64 %v15, %v14
  %v19 = mul i64 %v16, %v18
  %v20 = add i64 %v12, %v19
  %v23 = udiv i64 %v6, %v22
  %v24 = urem i64 %v23, %v22
  %v25 = mul i64 %v24, %v14
  %v26 = add i64 %v20, %v25
  %v27 = urem i64 %v6, %v22
  %v28 = mul i64 %v27, %v22
  %v29 = add i64 %v26, %v28
  %v30 = add i64 %v9, %v27
  %v31 = add i64 %v30, -1
  %v32 = icmp sle i64 0, %v31
  %v33 = icmp slt i64 %v31, %v14
  %v34 = and i1 %v32, %v33
  %v35 = mul i64 %v9, %v14
  %v36 = add i64 %v35, %v16
  %v37 = mul i64 %v24, %v8
  %v38 = add i64 %v36, %v37
  %v39 = mul i64 %v27, %v14
  %v40 = add i64 %v38, %v39
  %v41 = icmp sgt i64 %v22, 0
  %v42 = select i1 %v41, i64 %v22, i64 0
  %v43 = add i64 0, %v42
  %v46 = icmp slt i64 0, %v43
  br i1 %v46, label %b44, label %b45
b44:
  %v47 = phi i64 [ 0, %b3 ], [ %v69, %b44 ]
  %v48 = add i64 %v29, %v47
  %v49 = add i64 %v16, %v47
  %v50 = add i64 %v49, -1
  %v51 = icmp sle i64 0, %v50
  %v52 = and i1 %v34, %v51
  %v53 = icmp slt i64 %v50, %v14
  %v54 = and i1 %v52, %v53
  %v55 = add i64 %v40, %v47
  %v58 = add i64 %v55, %v57
  %v61 = getelementptr float, ptr %v60, i64 %v58
  %v62 = select i1 %v54, ptr %v61, ptr %spare
  %v63 = load float, ptr %v62
  %v64 = select i1 %v54, float %v63, float 0x0000000000000000
  %v65 = select i1 %v54, float %v64, float 0x0000000000000000
  %v68 = getelementptr inbounds float, ptr %v67, i64 %v48
  store float %v65, ptr %v68
  %v69 = add i64 %v47, 1
  %v70 = icmp slt i64 %v69, %v43
  br i1 %v70, label %b44, label %b45, !llvm.loop !2
b45:
  %v71 = add i64 %v6, 1
  %v72 = icmp slt i64 %v71, %v2
  br i1 %v72, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}


define void @permute(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 2
  %v8 = load i64, ptr %v7
  %v20 = getelementptr inbounds i64, ptr %args, i64 3
  %v21 = load i64, ptr %v20
  %v31 = getelementptr inbounds i64, ptr %args, i64 1
  %v32 = load ptr, ptr %v31
  %v35 = getelementptr inbounds i64, ptr %args, i64 0
  %v36 = load ptr, ptr %v35
  %v25 = insertelement <8 x i64> poison, i64 %v21, i64 0
  %v26 = shufflevector <8 x i64> %v25, <8 x i64> poison, <8 x i32> zeroinitializer
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v57, %b43 ]
  %v9 = mul i64 %v6, %v8
  %v28 = insertelement <8 x i64> poison, i64 %v6, i64 0
  %v29 = shufflevector <8 x i64> %v28, <8 x i64> poison, <8 x i32> zeroinitializer
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
  %v22 = insertelement <8 x i64> poison, i64 %v18, i64 0
  %v23 = shufflevector <8 x i64> %v22, <8 x i64> poison, <8 x i32> zeroinitializer
  %v24 = add <8 x i64> %v23, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v27 = mul <8 x i64> %v24, %v26
  %v30 = add <8 x i64> %v29, %v27
  %v33 = getelementptr float, ptr %v32, <8 x i64> %v30
  %v34 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v33, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
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
  %v49 = insertelement <8 x i64> poison, i64 %v14, i64 0
  %v50 = shufflevector <8 x i64> %v49, <8 x i64> poison, <8 x i32> zeroinitializer
  %v51 = add <8 x i64> %v50, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v52 = mul <8 x i64> %v51, %v26
  %v53 = add <8 x i64> %v29, %v52
  %v54 = getelementptr float, ptr %v32, <8 x i64> %v53
  %v55 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v54, i32 4, <8 x i1> %v47, <8 x float> zeroinitializer)
  %v56 = getelementptr float, ptr %v36, i64 %v48
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v55, ptr %v56, i32 4, <8 x i1> %v47)
  br label %b43
b43:
  %v57 = add i64 %v6, 1
  %v58 = icmp slt i64 %v57, %v2
  br i1 %v58, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
