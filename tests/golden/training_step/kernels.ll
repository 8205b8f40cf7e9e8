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
  %v68 = getelementptr inbounds i64, ptr %args, i64 3
  %v69 = load ptr, ptr %v68
  %v135 = getelementptr inbounds i64, ptr %args, i64 1
  %v136 = load ptr, ptr %v135
  %v139 = getelementptr inbounds i64, ptr %args, i64 6
  %v140 = load i64, ptr %v139
  %v141 = trunc i64 %v140 to i32
  %v142 = bitcast i32 %v141 to float
  %v145 = getelementptr inbounds i64, ptr %args, i64 0
  %v146 = load ptr, ptr %v145
  %v26 = insertelement <8 x i64> poison, i64 %v22, i64 0
  %v27 = shufflevector <8 x i64> %v26, <8 x i64> poison, <8 x i32> zeroinitializer
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v148, %b103 ]
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
  %v19 = phi i64 [ 0, %b3 ], [ %v97, %b16 ]
  %v20 = phi <8 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v96, %b16 ]
  %v23 = insertelement <8 x i64> poison, i64 %v19, i64 0
  %v24 = shufflevector <8 x i64> %v23, <8 x i64> poison, <8 x i32> zeroinitializer
  %v25 = add <8 x i64> %v24, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v28 = mul <8 x i64> %v25, %v27
  %v31 = add <8 x i64> %v28, %v30
  %v34 = extractelement <8 x i64> %v31, i64 0
  %v35 = getelementptr float, ptr %v33, i64 %v34
  %v36 = load float, ptr %v35, align 4
  %v37 = insertelement <8 x float> poison, float %v36, i64 0
  %v38 = extractelement <8 x i64> %v31, i64 1
  %v39 = getelementptr float, ptr %v33, i64 %v38
  %v40 = load float, ptr %v39, align 4
  %v41 = insertelement <8 x float> %v37, float %v40, i64 1
  %v42 = extractelement <8 x i64> %v31, i64 2
  %v43 = getelementptr float, ptr %v33, i64 %v42
  %v44 = load float, ptr %v43, align 4
  %v45 = insertelement <8 x float> %v41, float %v44, i64 2
  %v46 = extractelement <8 x i64> %v31, i64 3
  %v47 = getelementptr float, ptr %v33, i64 %v46
  %v48 = load float, ptr %v47, align 4
  %v49 = insertelement <8 x float> %v45, float %v48, i64 3
  %v50 = extractelement <8 x i64> %v31, i64 4
  %v51 = getelementptr float, ptr %v33, i64 %v50
  %v52 = load float, ptr %v51, align 4
  %v53 = insertelement <8 x float> %v49, float %v52, i64 4
  %v54 = extractelement <8 x i64> %v31, i64 5
  %v55 = getelementptr float, ptr %v33, i64 %v54
  %v56 = load float, ptr %v55, align 4
  %v57 = insertelement <8 x float> %v53, float %v56, i64 5
  %v58 = extractelement <8 x i64> %v31, i64 6
  %v59 = getelementptr float, ptr %v33, i64 %v58
  %v60 = load float, ptr %v59, align 4
  %v61 = insertelement <8 x float> %v57, float %v60, i64 6
  %v62 = extractelement <8 x i64> %v31, i64 7
  %v63 = getelementptr float, ptr %v33, i64 %v62
  %v64 = load float, ptr %v63, align 4
  %v65 = insertelement <8 x float> %v61, float %v64, i64 7
  %v66 = mul i64 %v19, 2
  %v67 = add i64 %v66, %v8
  %v70 = getelementptr float, ptr %v69, i64 %v67
  %v71 = getelementptr float, ptr %v70, i64 0
  %v72 = load float, ptr %v71, align 4
  %v73 = insertelement <8 x float> poison, float %v72, i64 0
  %v74 = getelementptr float, ptr %v70, i64 2
  %v75 = load float, ptr %v74, align 4
  %v76 = insertelement <8 x float> %v73, float %v75, i64 1
  %v77 = getelementptr float, ptr %v70, i64 4
  %v78 = load float, ptr %v77, align 4
  %v79 = insertelement <8 x float> %v76, float %v78, i64 2
  %v80 = getelementptr float, ptr %v70, i64 6
  %v81 = load float, ptr %v80, align 4
  %v82 = insertelement <8 x float> %v79, float %v81, i64 3
  %v83 = getelementptr float, ptr %v70, i64 8
  %v84 = load float, ptr %v83, align 4
  %v85 = insertelement <8 x float> %v82, float %v84, i64 4
  %v86 = getelementptr float, ptr %v70, i64 10
  %v87 = load float, ptr %v86, align 4
  %v88 = insertelement <8 x float> %v85, float %v87, i64 5
  %v89 = getelementptr float, ptr %v70, i64 12
  %v90 = load float, ptr %v89, align 4
  %v91 = insertelement <8 x float> %v88, float %v90, i64 6
  %v92 = getelementptr float, ptr %v70, i64 14
  %v93 = load float, ptr %v92, align 4
  %v94 = insertelement <8 x float> %v91, float %v93, i64 7
  %v95 = fmul <8 x float> %v65, %v94
  %v96 = fadd <8 x float> %v20, %v95
  %v97 = add i64 %v19, 8
  %v98 = icmp slt i64 %v97, %v15
  br i1 %v98, label %b16, label %b17, !llvm.loop !2
b17:
  %v99 = phi <8 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v96, %b16 ]
  %v100 = sub i64 %v13, %v15
  %v101 = icmp sgt i64 %v100, 0
  br i1 %v101, label %b102, label %b103
b102:
  %v104 = trunc i64 %v100 to i32
  %v105 = insertelement <8 x i32> poison, i32 %v104, i64 0
  %v106 = shufflevector <8 x i32> %v105, <8 x i32> poison, <8 x i32> zeroinitializer
  %v107 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v106
  %v108 = insertelement <8 x i64> poison, i64 %v15, i64 0
  %v109 = shufflevector <8 x i64> %v108, <8 x i64> poison, <8 x i32> zeroinitializer
  %v110 = add <8 x i64> %v109, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %v111 = mul <8 x i64> %v110, %v27
  %v112 = add <8 x i64> %v111, %v30
  %v113 = getelementptr float, ptr %v33, <8 x i64> %v112
  %v114 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v113, i32 4, <8 x i1> %v107, <8 x float> zeroinitializer)
  %v115 = mul i64 %v15, 2
  %v116 = add i64 %v115, %v8
  %v117 = getelementptr float, ptr %v69, i64 %v116
  %v118 = getelementptr float, ptr %v117, <8 x i64> <i64 0, i64 2, i64 4, i64 6, i64 8, i64 10, i64 12, i64 14>
  %v119 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v118, i32 4, <8 x i1> %v107, <8 x float> zeroinitializer)
  %v120 = fmul <8 x float> %v114, %v119
  %v121 = fadd <8 x float> %v99, %v120
  %v122 = select <8 x i1> %v107, <8 x float> %v121, <8 x float> %v99
  br label %b103
b103:
  %v123 = phi <8 x float> [ %v99, %b17 ], [ %v122, %b102 ]
  %v124 = shufflevector <8 x float> %v123, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v125 = shufflevector <8 x float> %v123, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v126 = fadd <4 x float> %v124, %v125
  %v127 = shufflevector <4 x float> %v126, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v128 = shufflevector <4 x float> %v126, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v129 = fadd <2 x float> %v127, %v128
  %v130 = extractelement <2 x float> %v129, i64 0
  %v131 = extractelement <2 x float> %v129, i64 1
  %v132 = fadd float %v130, %v131
  %v133 = mul i64 %v7, 2
  %v134 = add i64 %v133, %v8
  %v137 = getelementptr inbounds float, ptr %v136, i64 %v134
  %v138 = load float, ptr %v137
  %v143 = fmul float %v142, %v132
  %v144 = fsub float %v138, %v143
  %v147 = getelementptr inbounds float, ptr %v146, i64 %v134
  store float %v144, ptr %v147
  %v148 = add i64 %v6, 1
  %v149 = icmp slt i64 %v148, %v2
  br i1 %v149, label %b3, label %b4, !llvm.loop !3
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
  %v77 = getelementptr inbounds i64, ptr %args, i64 1
  %v78 = load ptr, ptr %v77
  %v81 = getelementptr inbounds i64, ptr %args, i64 4
  %v82 = load i64, ptr %v81
  %v83 = trunc i64 %v82 to i32
  %v84 = bitcast i32 %v83 to float
  %v87 = getelementptr inbounds i64, ptr %args, i64 0
  %v88 = load ptr, ptr %v87
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v90, %b55 ]
  %v9 = icmp sgt i64 %v8, 0
  %v10 = select i1 %v9, i64 %v8, i64 0
  %v11 = add i64 0, %v10
  %v12 = and i64 %v10, -8
  %v13 = add i64 0, %v12
  %v16 = icmp slt i64 0, %v13
  br i1 %v16, label %b14, label %b15
b14:
  %v17 = phi i64 [ 0, %b3 ], [ %v49, %b14 ]
  %v18 = phi <8 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v48, %b14 ]
  %v19 = mul i64 %v17, 2
  %v20 = add i64 %v6, %v19
  %v23 = getelementptr float, ptr %v22, i64 %v20
  %v24 = getelementptr float, ptr %v23, i64 0
  %v25 = load float, ptr %v24, align 4
  %v26 = insertelement <8 x float> poison, float %v25, i64 0
  %v27 = getelementptr float, ptr %v23, i64 2
  %v28 = load float, ptr %v27, align 4
  %v29 = insertelement <8 x float> %v26, float %v28, i64 1
  %v30 = getelementptr float, ptr %v23, i64 4
  %v31 = load float, ptr %v30, align 4
  %v32 = insertelement <8 x float> %v29, float %v31, i64 2
  %v33 = getelementptr float, ptr %v23, i64 6
  %v34 = load float, ptr %v33, align 4
  %v35 = insertelement <8 x float> %v32, float %v34, i64 3
  %v36 = getelementptr float, ptr %v23, i64 8
  %v37 = load float, ptr %v36, align 4
  %v38 = insertelement <8 x float> %v35, float %v37, i64 4
  %v39 = getelementptr float, ptr %v23, i64 10
  %v40 = load float, ptr %v39, align 4
  %v41 = insertelement <8 x float> %v38, float %v40, i64 5
  %v42 = getelementptr float, ptr %v23, i64 12
  %v43 = load float, ptr %v42, align 4
  %v44 = insertelement <8 x float> %v41, float %v43, i64 6
  %v45 = getelementptr float, ptr %v23, i64 14
  %v46 = load float, ptr %v45, align 4
  %v47 = insertelement <8 x float> %v44, float %v46, i64 7
  %v48 = fadd <8 x float> %v18, %v47
  %v49 = add i64 %v17, 8
  %v50 = icmp slt i64 %v49, %v13
  br i1 %v50, label %b14, label %b15, !llvm.loop !2
b15:
  %v51 = phi <8 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v48, %b14 ]
  %v52 = sub i64 %v11, %v13
  %v53 = icmp sgt i64 %v52, 0
  br i1 %v53, label %b54, label %b55
b54:
  %v56 = trunc i64 %v52 to i32
  %v57 = insertelement <8 x i32> poison, i32 %v56, i64 0
  %v58 = shufflevector <8 x i32> %v57, <8 x i32> poison, <8 x i32> zeroinitializer
  %v59 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v58
  %v60 = mul i64 %v13, 2
  %v61 = add i64 %v6, %v60
  %v62 = getelementptr float, ptr %v22, i64 %v61
  %v63 = getelementptr float, ptr %v62, <8 x i64> <i64 0, i64 2, i64 4, i64 6, i64 8, i64 10, i64 12, i64 14>
  %v64 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %v63, i32 4, <8 x i1> %v59, <8 x float> zeroinitializer)
  %v65 = fadd <8 x float> %v51, %v64
  %v66 = select <8 x i1> %v59, <8 x float> %v65, <8 x float> %v51
  br label %b55
b55:
  %v67 = phi <8 x float> [ %v51, %b15 ], [ %v66, %b54 ]
  %v68 = shufflevector <8 x float> %v67, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v69 = shufflevector <8 x float> %v67, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v70 = fadd <4 x float> %v68, %v69
  %v71 = shufflevector <4 x float> %v70, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v72 = shufflevector <4 x float> %v70, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v73 = fadd <2 x float> %v71, %v72
  %v74 = extractelement <2 x float> %v73, i64 0
  %v75 = extractelement <2 x float> %v73, i64 1
  %v76 = fadd float %v74, %v75
  %v79 = getelementptr inbounds float, ptr %v78, i64 %v6
  %v80 = load float, ptr %v79
  %v85 = fmul float %v84, %v76
  %v86 = fsub float %v80, %v85
  %v89 = getelementptr inbounds float, ptr %v88, i64 %v6
  store float %v86, ptr %v89
  %v90 = add i64 %v6, 1
  %v91 = icmp slt i64 %v90, %v2
  br i1 %v91, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
