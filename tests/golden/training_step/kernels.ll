define void @mul(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v8 = getelementptr inbounds i64, ptr %args, i64 5
  %v9 = load i64, ptr %v8
  %v21 = getelementptr inbounds i64, ptr %args, i64 1
  %v22 = load ptr, ptr %v21
  %v27 = getelementptr inbounds i64, ptr %args, i64 2
  %v28 = load ptr, ptr %v27
  %v38 = getelementptr inbounds i64, ptr %args, i64 3
  %v39 = load ptr, ptr %v38
  %v74 = getelementptr inbounds i64, ptr %args, i64 4
  %v75 = load ptr, ptr %v74
  %v80 = getelementptr inbounds i64, ptr %args, i64 6
  %v81 = load i64, ptr %v80
  %v82 = trunc i64 %v81 to i32
  %v83 = bitcast i32 %v82 to float
  %v88 = getelementptr inbounds i64, ptr %args, i64 0
  %v89 = load ptr, ptr %v88
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v91, %b16 ]
  %v7 = udiv i64 %v6, 2
  %v10 = mul i64 %v7, %v9
  %v11 = urem i64 %v6, 2
  %v12 = icmp sgt i64 %v9, 0
  %v13 = select i1 %v12, i64 %v9, i64 0
  %v14 = add i64 0, %v13
  %v17 = icmp slt i64 0, %v14
  br i1 %v17, label %b15, label %b16
b15:
  %v18 = phi i64 [ 0, %b3 ], [ %v33, %b15 ]
  %v19 = phi float [ 0x0000000000000000, %b3 ], [ %v32, %b15 ]
  %v20 = add i64 %v18, %v10
  %v23 = getelementptr inbounds float, ptr %v22, i64 %v20
  %v24 = load float, ptr %v23
  %v25 = mul i64 %v18, 2
  %v26 = add i64 %v25, %v11
  %v29 = getelementptr inbounds float, ptr %v28, i64 %v26
  %v30 = load float, ptr %v29
  %v31 = fmul float %v24, %v30
  %v32 = fadd float %v19, %v31
  %v33 = add i64 %v18, 1
  %v34 = icmp slt i64 %v33, %v14
  br i1 %v34, label %b15, label %b16, !llvm.loop !2
b16:
  %v35 = phi float [ 0x0000000000000000, %b3 ], [ %v32, %b15 ]
  %v36 = mul i64 %v7, 2
  %v37 = add i64 %v36, %v11
  %v40 = getelementptr inbounds float, ptr %v39, i64 %v11
  %v41 = load float, ptr %v40
  %v42 = fadd float %v35, %v41
  %v43 = call float @llvm.fabs.f32(float %v42)
  %v44 = fcmp olt float %v43, 0x3FE4000000000000
  %v45 = fmul float %v42, %v42
  %v46 = call float @llvm.fma.f32(float 0x3F62C1B1C0000000, float %v45, float 0xBF81152F60000000)
  %v47 = call float @llvm.fma.f32(float %v46, float %v45, float 0x3F964A5EE0000000)
  %v48 = call float @llvm.fma.f32(float %v47, float %v45, float 0xBFABA088E0000000)
  %v49 = call float @llvm.fma.f32(float %v48, float %v45, float 0x3FC1110E80000000)
  %v50 = call float @llvm.fma.f32(float %v49, float %v45, float 0xBFD5555560000000)
  %v51 = fmul float %v50, %v45
  %v52 = call float @llvm.fma.f32(float %v51, float %v43, float %v43)
  %v53 = fcmp olt float 0x4022333340000000, %v43
  %v54 = select i1 %v53, float 0x4022333340000000, float %v43
  %v55 = fadd float %v54, %v54
  %v56 = call float @llvm.fma.f32(float %v55, float 0x3FF7154760000000, float 0x4168000FC0000000)
  %v57 = fsub float %v56, 0x4168000FC0000000
  %v58 = call float @llvm.fma.f32(float %v57, float 0xBFE62E4300000000, float %v55)
  %v59 = call float @llvm.fma.f32(float %v57, float 0x3E205C6100000000, float %v58)
  %v60 = call float @llvm.fma.f32(float 0x3F56D117C0000000, float %v59, float 0x3F8120BE20000000)
  %v61 = call float @llvm.fma.f32(float %v60, float %v59, float 0x3FA5555180000000)
  %v62 = call float @llvm.fma.f32(float %v61, float %v59, float 0x3FC5554DC0000000)
  %v63 = call float @llvm.fma.f32(float %v62, float %v59, float 0x3FE0000000000000)
  %v64 = call float @llvm.fma.f32(float %v63, float %v59, float 0x3FF0000000000000)
  %v65 = call float @llvm.fma.f32(float %v64, float %v59, float 0x3FF0000000000000)
  %v66 = bitcast float %v56 to i32
  %v67 = shl i32 %v66, 23
  %v68 = bitcast i32 %v67 to float
  %v69 = call float @llvm.fma.f32(float %v65, float %v68, float 0x3FE0000000000000)
  %v70 = fdiv float 0x3FF0000000000000, %v69
  %v71 = fsub float 0x3FF0000000000000, %v70
  %v72 = select i1 %v44, float %v52, float %v71
  %v73 = call float @llvm.copysign.f32(float %v72, float %v42)
  %v76 = getelementptr inbounds float, ptr %v75, i64 %v37
  %v77 = load float, ptr %v76
  %v78 = fsub float %v73, %v77
  %v79 = fmul float 0x4000000000000000, %v78
  %v84 = fmul float %v83, %v79
  %v85 = fmul float %v73, %v73
  %v86 = fsub float 0x3FF0000000000000, %v85
  %v87 = fmul float %v84, %v86
  %v90 = getelementptr inbounds float, ptr %v89, i64 %v37
  store float %v87, ptr %v90
  %v91 = add i64 %v6, 1
  %v92 = icmp slt i64 %v91, %v2
  br i1 %v92, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare float @llvm.fabs.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.copysign.f32(float, float)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}


define void @sub(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v9 = getelementptr inbounds i64, ptr %args, i64 4
  %v10 = load i64, ptr %v9
  %v21 = getelementptr inbounds i64, ptr %args, i64 5
  %v22 = load i64, ptr %v21
  %v32 = getelementptr inbounds i64, ptr %args, i64 2
  %v33 = load ptr, ptr %v32
  %v38 = getelementptr inbounds i64, ptr %args, i64 3
  %v39 = load ptr, ptr %v38
  %v83 = getelementptr inbounds i64, ptr %args, i64 1
  %v84 = load ptr, ptr %v83
  %v87 = getelementptr inbounds i64, ptr %args, i64 6
  %v88 = load i64, ptr %v87
  %v89 = trunc i64 %v88 to i32
  %v90 = bitcast i32 %v89 to float
  %v93 = getelementptr inbounds i64, ptr %args, i64 0
  %v94 = load ptr, ptr %v93
  %v26 = insertelement <8 x i64> poison, i64 %v22, i64 0
  %v27 = shufflevector <8 x i64> %v26, <8 x i64> poison, <8 x i32> zeroinitializer
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v96, %b51 ]
  %v7 = udiv i64 %v6, 2
  %v8 = urem i64 %v6, 2
  %v29 = insertelement <8 x i64> poison, i64 %v7, i64 0
  %v30 = shufflevector <8 x i64> %v29, <8 x i64> poison, <8 x i32> zeroinitializer
  %v11 = icmp sgt i64 %v10, 0
  %v12 = select i1 %v11, i64 %v10, i64 0
  %v13 = add i64 0, %v12
  %v14 = and i64 %v12, -8
  %v15 = add i64 0, %v14
  %v18 = icmp slt i64 0, %v15
  br i1 %v18, label %b16, label %b17
b16:
  %v19 = phi i64 [ 0, %b3 ], [ %v45, %b16 ]
  %v20 = phi <8 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v44, %b16 ]
  %v23 = insertelement <8 x i64> poison, i64 %v19, i64 0
  %v24 = shufflevector <8 x i64> %v23, <8 x i64> poison, <8 x i32> zeroinitializer
  %v25 = add <8 x i64> %v24, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v28 = mul <8 x i64> %v25, %v27
  %v31 = add <8 x i64> %v28, %v30
  %v34 = getelementptr float, ptr %v33, <8 x i64> %v31
  %v35 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v34, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v36 = mul i64 %v19, 2
  %v37 = add i64 %v36, %v8
  %v40 = getelementptr float, ptr %v39, i64 %v37
  %v41 = getelementptr float, ptr %v40, <8 x i64> <i64 0, i64 2, i64 4, i64 6, i64 8, i64 10, i64 12, i64 14>
  %v42 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v41, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v43 = fmul <8 x float> %v35, %v42
  %v44 = fadd <8 x float> %v20, %v43
  %v45 = add i64 %v19, 8
  %v46 = icmp slt i64 %v45, %v15
  br i1 %v46, label %b16, label %b17, !llvm.loop !2
b17:
  %v47 = phi <8 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v44, %b16 ]
  %v48 = sub i64 %v13, %v15
  %v49 = icmp sgt i64 %v48, 0
  br i1 %v49, label %b50, label %b51
b50:
  %v52 = trunc i64 %v48 to i32
  %v53 = insertelement <8 x i32> poison, i32 %v52, i64 0
  %v54 = shufflevector <8 x i32> %v53, <8 x i32> poison, <8 x i32> zeroinitializer
  %v55 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v54
  %v56 = insertelement <8 x i64> poison, i64 %v15, i64 0
  %v57 = shufflevector <8 x i64> %v56, <8 x i64> poison, <8 x i32> zeroinitializer
  %v58 = add <8 x i64> %v57, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v59 = mul <8 x i64> %v58, %v27
  %v60 = add <8 x i64> %v59, %v30
  %v61 = getelementptr float, ptr %v33, <8 x i64> %v60
  %v62 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v61, i32 4, <8 x i1> %v55, <8 x float> zeroinitializer)
  %v63 = mul i64 %v15, 2
  %v64 = add i64 %v63, %v8
  %v65 = getelementptr float, ptr %v39, i64 %v64
  %v66 = getelementptr float, ptr %v65, <8 x i64> <i64 0, i64 2, i64 4, i64 6, i64 8, i64 10, i64 12, i64 14>
  %v67 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v66, i32 4, <8 x i1> %v55, <8 x float> zeroinitializer)
  %v68 = fmul <8 x float> %v62, %v67
  %v69 = fadd <8 x float> %v47, %v68
  %v70 = select <8 x i1> %v55, <8 x float> %v69, <8 x float> %v47
  br label %b51
b51:
  %v71 = phi <8 x float> [ %v47, %b17 ], [ %v70, %b50 ]
  %v72 = shufflevector <8 x float> %v71, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v73 = shufflevector <8 x float> %v71, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v74 = fadd <4 x float> %v72, %v73
  %v75 = shufflevector <4 x float> %v74, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v76 = shufflevector <4 x float> %v74, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v77 = fadd <2 x float> %v75, %v76
  %v78 = extractelement <2 x float> %v77, i64 0
  %v79 = extractelement <2 x float> %v77, i64 1
  %v80 = fadd float %v78, %v79
  %v81 = mul i64 %v7, 2
  %v82 = add i64 %v81, %v8
  %v85 = getelementptr inbounds float, ptr %v84, i64 %v82
  %v86 = load float, ptr %v85
  %v91 = fmul float %v90, %v80
  %v92 = fsub float %v86, %v91
  %v95 = getelementptr inbounds float, ptr %v94, i64 %v82
  store float %v92, ptr %v95
  %v96 = add i64 %v6, 1
  %v97 = icmp slt i64 %v96, %v2
  br i1 %v97, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}


define void @sub(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 3
  %v8 = load i64, ptr %v7
  %v21 = getelementptr inbounds i64, ptr %args, i64 2
  %v22 = load ptr, ptr %v21
  %v55 = getelementptr inbounds i64, ptr %args, i64 1
  %v56 = load ptr, ptr %v55
  %v59 = getelementptr inbounds i64, ptr %args, i64 4
  %v60 = load i64, ptr %v59
  %v61 = trunc i64 %v60 to i32
  %v62 = bitcast i32 %v61 to float
  %v65 = getelementptr inbounds i64, ptr %args, i64 0
  %v66 = load ptr, ptr %v65
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v68, %b33 ]
  %v9 = icmp sgt i64 %v8, 0
  %v10 = select i1 %v9, i64 %v8, i64 0
  %v11 = add i64 0, %v10
  %v12 = and i64 %v10, -8
  %v13 = add i64 0, %v12
  %v16 = icmp slt i64 0, %v13
  br i1 %v16, label %b14, label %b15
b14:
  %v17 = phi i64 [ 0, %b3 ], [ %v27, %b14 ]
  %v18 = phi <8 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v26, %b14 ]
  %v19 = mul i64 %v17, 2
  %v20 = add i64 %v6, %v19
  %v23 = getelementptr float, ptr %v22, i64 %v20
  %v24 = getelementptr float, ptr %v23, <8 x i64> <i64 0, i64 2, i64 4, i64 6, i64 8, i64 10, i64 12, i64 14>
  %v25 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v24, i32 4, <8 x i1> splat (i1 true), <8 x float> zeroinitializer)
  %v26 = fadd <8 x float> %v18, %v25
  %v27 = add i64 %v17, 8
  %v28 = icmp slt i64 %v27, %v13
  br i1 %v28, label %b14, label %b15, !llvm.loop !2
b15:
  %v29 = phi <8 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v26, %b14 ]
  %v30 = sub i64 %v11, %v13
  %v31 = icmp sgt i64 %v30, 0
  br i1 %v31, label %b32, label %b33
b32:
  %v34 = trunc i64 %v30 to i32
  %v35 = insertelement <8 x i32> poison, i32 %v34, i64 0
  %v36 = shufflevector <8 x i32> %v35, <8 x i32> poison, <8 x i32> zeroinitializer
  %v37 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v36
  %v38 = mul i64 %v13, 2
  %v39 = add i64 %v6, %v38
  %v40 = getelementptr float, ptr %v22, i64 %v39
  %v41 = getelementptr float, ptr %v40, <8 x i64> <i64 0, i64 2, i64 4, i64 6, i64 8, i64 10, i64 12, i64 14>
  %v42 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v41, i32 4, <8 x i1> %v37, <8 x float> zeroinitializer)
  %v43 = fadd <8 x float> %v29, %v42
  %v44 = select <8 x i1> %v37, <8 x float> %v43, <8 x float> %v29
  br label %b33
b33:
  %v45 = phi <8 x float> [ %v29, %b15 ], [ %v44, %b32 ]
  %v46 = shufflevector <8 x float> %v45, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v47 = shufflevector <8 x float> %v45, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v48 = fadd <4 x float> %v46, %v47
  %v49 = shufflevector <4 x float> %v48, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v50 = shufflevector <4 x float> %v48, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v51 = fadd <2 x float> %v49, %v50
  %v52 = extractelement <2 x float> %v51, i64 0
  %v53 = extractelement <2 x float> %v51, i64 1
  %v54 = fadd float %v52, %v53
  %v57 = getelementptr inbounds float, ptr %v56, i64 %v6
  %v58 = load float, ptr %v57
  %v63 = fmul float %v62, %v54
  %v64 = fsub float %v58, %v63
  %v67 = getelementptr inbounds float, ptr %v66, i64 %v6
  store float %v64, ptr %v67
  %v68 = add i64 %v6, 1
  %v69 = icmp slt i64 %v68, %v2
  br i1 %v69, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
