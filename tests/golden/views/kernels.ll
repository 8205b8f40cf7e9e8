define void @mul(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 2
  %v8 = load i64, ptr %v7
  %v10 = getelementptr inbounds i64, ptr %args, i64 3
  %v11 = load i64, ptr %v10
  %v13 = getelementptr inbounds i64, ptr %args, i64 4
  %v14 = load i64, ptr %v13
  %v39 = getelementptr inbounds i64, ptr %args, i64 1
  %v40 = load ptr, ptr %v39
  %v46 = getelementptr inbounds i64, ptr %args, i64 5
  %v47 = load i64, ptr %v46
  %v48 = trunc i64 %v47 to i32
  %v49 = bitcast i32 %v48 to float
  %v53 = getelementptr inbounds i64, ptr %args, i64 0
  %v54 = load ptr, ptr %v53
  %v32 = insertelement <4 x i64> poison, i64 %v14, i64 0
  %v33 = shufflevector <4 x i64> %v32, <4 x i64> poison, <4 x i32> zeroinitializer
  %v50 = insertelement <4 x float> poison, float %v49, i64 0
  %v51 = shufflevector <4 x float> %v50, <4 x float> poison, <4 x i32> zeroinitializer
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v79, %b61 ]
  %v9 = mul i64 %v6, %v8
  %v12 = mul i64 %v6, %v11
  %v15 = add i64 %v12, %v14
  %v16 = icmp sle i64 0, %v15
  %v17 = icmp slt i64 %v15, %v14
  %v18 = and i1 %v16, %v17
  %v35 = insertelement <4 x i64> poison, i64 %v12, i64 0
  %v36 = shufflevector <4 x i64> %v35, <4 x i64> poison, <4 x i32> zeroinitializer
  %v41 = insertelement <4 x i1> poison, i1 %v18, i64 0
  %v42 = shufflevector <4 x i1> %v41, <4 x i1> poison, <4 x i32> zeroinitializer
  %v19 = icmp sgt i64 %v8, 0
  %v20 = select i1 %v19, i64 %v8, i64 0
  %v21 = add i64 0, %v20
  %v22 = and i64 %v20, -4
  %v23 = add i64 0, %v22
  %v26 = icmp slt i64 0, %v23
  br i1 %v26, label %b24, label %b25
b24:
  %v27 = phi i64 [ 0, %b3 ], [ %v56, %b24 ]
  %v28 = add i64 %v9, %v27
  %v29 = insertelement <4 x i64> poison, i64 %v27, i64 0
  %v30 = shufflevector <4 x i64> %v29, <4 x i64> poison, <4 x i32> zeroinitializer
  %v31 = add <4 x i64> %v30, <i64 0, i64 1, i64 2, i64 3>
  %v34 = mul <4 x i64> %v31, %v33
  %v37 = add <4 x i64> %v36, %v34
  %v38 = add <4 x i64> %v37, %v33
  %v43 = getelementptr float, ptr %v40, <4 x i64> %v38
  %v44 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %v43, i32 4, <4 x i1> %v42, <4 x float> splat (float 0x0000000000000000))
  %v45 = select i1 %v18, <4 x float> %v44, <4 x float> splat (float 0x0000000000000000)
  %v52 = fmul <4 x float> %v45, %v51
  %v55 = getelementptr inbounds float, ptr %v54, i64 %v28
  store <4 x float> %v52, ptr %v55, align 4
  %v56 = add i64 %v27, 4
  %v57 = icmp slt i64 %v56, %v23
  br i1 %v57, label %b24, label %b25, !llvm.loop !2
b25:
  %v58 = sub i64 %v21, %v23
  %v59 = icmp sgt i64 %v58, 0
  br i1 %v59, label %b60, label %b61
b60:
  %v62 = trunc i64 %v58 to i32
  %v63 = insertelement <4 x i32> poison, i32 %v62, i64 0
  %v64 = shufflevector <4 x i32> %v63, <4 x i32> poison, <4 x i32> zeroinitializer
  %v65 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v64
  %v66 = add i64 %v9, %v23
  %v67 = insertelement <4 x i64> poison, i64 %v23, i64 0
  %v68 = shufflevector <4 x i64> %v67, <4 x i64> poison, <4 x i32> zeroinitializer
  %v69 = add <4 x i64> %v68, <i64 0, i64 1, i64 2, i64 3>
  %v70 = mul <4 x i64> %v69, %v33
  %v71 = add <4 x i64> %v36, %v70
  %v72 = add <4 x i64> %v71, %v33
  %v73 = and <4 x i1> %v42, %v65
  %v74 = getelementptr float, ptr %v40, <4 x i64> %v72
  %v75 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %v74, i32 4, <4 x i1> %v73, <4 x float> splat (float 0x0000000000000000))
  %v76 = select i1 %v18, <4 x float> %v75, <4 x float> splat (float 0x0000000000000000)
  %v77 = fmul <4 x float> %v76, %v51
  %v78 = getelementptr float, ptr %v54, i64 %v66
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v77, ptr %v78, i32 4, <4 x i1> %v65)
  br label %b61
b61:
  %v79 = add i64 %v6, 1
  %v80 = icmp slt i64 %v79, %v2
  br i1 %v80, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, i32, <4 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
