define void @cast(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v9 = getelementptr inbounds i64, ptr %args, i64 1
  %v10 = load ptr, ptr %v9
  %v19 = getelementptr inbounds i64, ptr %args, i64 3
  %v20 = load i64, ptr %v19
  %v21 = trunc i64 %v20 to i32
  %v22 = bitcast i32 %v21 to float
  %v32 = getelementptr inbounds i64, ptr %args, i64 2
  %v33 = load ptr, ptr %v32
  %v72 = getelementptr inbounds i64, ptr %args, i64 0
  %v73 = load ptr, ptr %v72
  %v23 = insertelement <8 x float> poison, float %v22, i64 0
  %v24 = shufflevector <8 x float> %v23, <8 x float> poison, <8 x i32> zeroinitializer
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v3 = and i64 %v1, -8
  %v4 = add i64 %begin, %v3
  %v7 = icmp slt i64 %begin, %v4
  br i1 %v7, label %b5, label %b6
b5:
  %v8 = phi i64 [ %begin, %start ], [ %v75, %b5 ]
  %v11 = getelementptr inbounds float, ptr %v10, i64 %v8
  %v12 = load <8 x float>, ptr %v11, align 4
  %v13 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v12)
  %v14 = fptrunc <8 x float> %v13 to <8 x half>
  %v15 = bitcast <8 x half> %v14 to <8 x i16>
  %v16 = bitcast <8 x i16> %v15 to <8 x half>
  %v17 = fpext <8 x half> %v16 to <8 x float>
  %v18 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v17)
  %v25 = fmul <8 x float> %v18, %v24
  %v26 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v25)
  %v27 = fptrunc <8 x float> %v26 to <8 x half>
  %v28 = bitcast <8 x half> %v27 to <8 x i16>
  %v29 = bitcast <8 x i16> %v28 to <8 x half>
  %v30 = fpext <8 x half> %v29 to <8 x float>
  %v31 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v30)
  %v34 = getelementptr inbounds i32, ptr %v33, i64 %v8
  %v35 = load <8 x i32>, ptr %v34, align 4
  %v36 = srem <8 x i32> %v35, splat (i32 3)
  %v37 = icmp ne <8 x i32> %v36, splat (i32 0)
  %v38 = xor <8 x i32> %v36, splat (i32 3)
  %v39 = icmp slt <8 x i32> %v38, splat (i32 0)
  %v40 = and <8 x i1> %v37, %v39
  %v41 = sdiv <8 x i32> %v35, splat (i32 3)
  %v42 = sub <8 x i32> %v41, splat (i32 1)
  %v43 = select <8 x i1> %v40, <8 x i32> %v42, <8 x i32> %v41
  %v44 = srem <8 x i32> %v43, splat (i32 5)
  %v45 = icmp ne <8 x i32> %v44, splat (i32 0)
  %v46 = xor <8 x i32> %v44, splat (i32 5)
  %v47 = icmp slt <8 x i32> %v46, splat (i32 0)
  %v48 = and <8 x i1> %v45, %v47
  %v49 = add <8 x i32> %v44, splat (i32 5)
  %v50 = select <8 x i1> %v48, <8 x i32> %v49, <8 x i32> %v44
  %v51 = sitofp <8 x i32> %v50 to <8 x float>
  %v52 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v51)
  %v53 = fptrunc <8 x float> %v52 to <8 x half>
  %v54 = bitcast <8 x half> %v53 to <8 x i16>
  %v55 = bitcast <8 x i16> %v54 to <8 x half>
  %v56 = fpext <8 x half> %v55 to <8 x float>
  %v57 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v56)
  %v58 = fadd <8 x float> %v31, %v57
  %v59 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v58)
  %v60 = fptrunc <8 x float> %v59 to <8 x half>
  %v61 = bitcast <8 x half> %v60 to <8 x i16>
  %v62 = bitcast <8 x i16> %v61 to <8 x half>
  %v63 = fpext <8 x half> %v62 to <8 x float>
  %v64 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v63)
  %v65 = fcmp une <8 x float> %v64, %v64
  %v66 = fcmp ogt <8 x float> splat (float 0xC060000000000000), %v64
  %v67 = select <8 x i1> %v66, <8 x float> splat (float 0xC060000000000000), <8 x float> %v64
  %v68 = fcmp olt <8 x float> splat (float 0x405FC00000000000), %v67
  %v69 = select <8 x i1> %v68, <8 x float> splat (float 0x405FC00000000000), <8 x float> %v67
  %v70 = select <8 x i1> %v65, <8 x float> splat (float 0x0000000000000000), <8 x float> %v69
  %v71 = fptosi <8 x float> %v70 to <8 x i8>
  %v74 = getelementptr inbounds i8, ptr %v73, i64 %v8
  store <8 x i8> %v71, ptr %v74, align 1
  %v75 = add i64 %v8, 8
  %v76 = icmp slt i64 %v75, %v4
  br i1 %v76, label %b5, label %b6, !llvm.loop !2
b6:
  %v77 = sub i64 %v2, %v4
  %v78 = icmp sgt i64 %v77, 0
  br i1 %v78, label %b79, label %b80
b79:
  %v81 = trunc i64 %v77 to i32
  %v82 = insertelement <8 x i32> poison, i32 %v81, i64 0
  %v83 = shufflevector <8 x i32> %v82, <8 x i32> poison, <8 x i32> zeroinitializer
  %v84 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v83
  %v85 = getelementptr float, ptr %v10, i64 %v4
  %v86 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v85, i32 4, <8 x i1> %v84, <8 x float> zeroinitializer)
  %v87 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v86)
  %v88 = fptrunc <8 x float> %v87 to <8 x half>
  %v89 = bitcast <8 x half> %v88 to <8 x i16>
  %v90 = bitcast <8 x i16> %v89 to <8 x half>
  %v91 = fpext <8 x half> %v90 to <8 x float>
  %v92 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v91)
  %v93 = fmul <8 x float> %v92, %v24
  %v94 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v93)
  %v95 = fptrunc <8 x float> %v94 to <8 x half>
  %v96 = bitcast <8 x half> %v95 to <8 x i16>
  %v97 = bitcast <8 x i16> %v96 to <8 x half>
  %v98 = fpext <8 x half> %v97 to <8 x float>
  %v99 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v98)
  %v100 = getelementptr i32, ptr %v33, i64 %v4
  %v101 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr %v100, i32 4, <8 x i1> %v84, <8 x i32> zeroinitializer)
  %v102 = srem <8 x i32> %v101, splat (i32 3)
  %v103 = icmp ne <8 x i32> %v102, splat (i32 0)
  %v104 = xor <8 x i32> %v102, splat (i32 3)
  %v105 = icmp slt <8 x i32> %v104, splat (i32 0)
  %v106 = and <8 x i1> %v103, %v105
  %v107 = sdiv <8 x i32> %v101, splat (i32 3)
  %v108 = sub <8 x i32> %v107, splat (i32 1)
  %v109 = select <8 x i1> %v106, <8 x i32> %v108, <8 x i32> %v107
  %v110 = srem <8 x i32> %v109, splat (i32 5)
  %v111 = icmp ne <8 x i32> %v110, splat (i32 0)
  %v112 = xor <8 x i32> %v110, splat (i32 5)
  %v113 = icmp slt <8 x i32> %v112, splat (i32 0)
  %v114 = and <8 x i1> %v111, %v113
  %v115 = add <8 x i32> %v110, splat (i32 5)
  %v116 = select <8 x i1> %v114, <8 x i32> %v115, <8 x i32> %v110
  %v117 = sitofp <8 x i32> %v116 to <8 x float>
  %v118 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v117)
  %v119 = fptrunc <8 x float> %v118 to <8 x half>
  %v120 = bitcast <8 x half> %v119 to <8 x i16>
  %v121 = bitcast <8 x i16> %v120 to <8 x half>
  %v122 = fpext <8 x half> %v121 to <8 x float>
  %v123 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v122)
  %v124 = fadd <8 x float> %v99, %v123
  %v125 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v124)
  %v126 = fptrunc <8 x float> %v125 to <8 x half>
  %v127 = bitcast <8 x half> %v126 to <8 x i16>
  %v128 = bitcast <8 x i16> %v127 to <8 x half>
  %v129 = fpext <8 x half> %v128 to <8 x float>
  %v130 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %v129)
  %v131 = fcmp une <8 x float> %v130, %v130
  %v132 = fcmp ogt <8 x float> splat (float 0xC060000000000000), %v130
  %v133 = select <8 x i1> %v132, <8 x float> splat (float 0xC060000000000000), <8 x float> %v130
  %v134 = fcmp olt <8 x float> splat (float 0x405FC00000000000), %v133
  %v135 = select <8 x i1> %v134, <8 x float> splat (float 0x405FC00000000000), <8 x float> %v133
  %v136 = select <8 x i1> %v131, <8 x float> splat (float 0x0000000000000000), <8 x float> %v135
  %v137 = fptosi <8 x float> %v136 to <8 x i8>
  %v138 = getelementptr i8, ptr %v73, i64 %v4
  call void @llvm.masked.store.v8i8.p0(<8 x i8> %v137, ptr %v138, i32 1, <8 x i1> %v84)
  br label %b80
b80:
  ret void
}
declare <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, i32, <8 x i1>, <8 x i32>)
declare void @llvm.masked.store.v8i8.p0(<8 x i8>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
