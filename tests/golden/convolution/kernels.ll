define void @contract(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 3
  %v8 = load i64, ptr %v7
  %v12 = getelementptr inbounds i64, ptr %args, i64 4
  %v13 = load i64, ptr %v12
  %v15 = getelementptr inbounds i64, ptr %args, i64 5
  %v16 = load i64, ptr %v15
  %v28 = getelementptr inbounds i64, ptr %args, i64 6
  %v29 = load i64, ptr %v28
  %v88 = getelementptr inbounds i64, ptr %args, i64 7
  %v89 = load i64, ptr %v88
  %v91 = getelementptr inbounds i64, ptr %args, i64 1
  %v92 = load ptr, ptr %v91
  %v98 = getelementptr inbounds i64, ptr %args, i64 2
  %v99 = load ptr, ptr %v98
  %v116 = getelementptr inbounds i64, ptr %args, i64 0
  %v117 = load ptr, ptr %v116
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v211, %b124 ]
  %v9 = urem i64 %v6, %v8
  %v10 = mul i64 %v9, %v8
  %v11 = udiv i64 %v6, %v8
  %v14 = mul i64 %v11, %v13
  %v17 = mul i64 %v11, %v16
  %v18 = add i64 %v17, %v10
  %v19 = icmp sgt i64 %v8, 0
  %v20 = select i1 %v19, i64 %v8, i64 0
  %v21 = add i64 0, %v20
  %v22 = and i64 %v20, -8
  %v23 = add i64 0, %v22
  %v26 = icmp slt i64 0, %v23
  br i1 %v26, label %b24, label %b25
b24:
  %v27 = phi i64 [ 0, %b3 ], [ %v119, %b34 ]
  %v30 = icmp sgt i64 %v29, 0
  %v31 = select i1 %v30, i64 %v29, i64 0
  %v32 = add i64 0, %v31
  %v35 = icmp slt i64 0, %v32
  br i1 %v35, label %b33, label %b34
b33:
  %v36 = phi i64 [ 0, %b24 ], [ %v112, %b44 ]
  %v37 = phi <8 x float> [ splat (float 0x0000000000000000), %b24 ], [ %v111, %b44 ]
  %v38 = mul i64 %v36, %v16
  %v39 = mul i64 %v36, %v8
  %v40 = icmp sgt i64 %v29, 0
  %v41 = select i1 %v40, i64 %v29, i64 0
  %v42 = add i64 0, %v41
  %v45 = icmp slt i64 0, %v42
  br i1 %v45, label %b43, label %b44
b43:
  %v46 = phi i64 [ 0, %b33 ], [ %v109, %b61 ]
  %v47 = phi <8 x float> [ %v37, %b33 ], [ %v108, %b61 ]
  %v48 = add i64 %v46, %v9
  %v49 = add i64 %v48, -1
  %v50 = icmp sle i64 0, %v49
  %v51 = icmp slt i64 %v49, %v8
  %v52 = and i1 %v50, %v51
  %v53 = mul i64 %v46, %v8
  %v54 = add i64 %v38, %v53
  %v55 = mul i64 %v46, %v29
  %v56 = add i64 %v39, %v55
  %v74 = insertelement <8 x i1> poison, i1 %v52, i64 0
  %v75 = shufflevector <8 x i1> %v74, <8 x i1> poison, <8 x i32> zeroinitializer
  %v57 = icmp sgt i64 %v29, 0
  %v58 = select i1 %v57, i64 %v29, i64 0
  %v59 = add i64 0, %v58
  %v62 = icmp slt i64 0, %v59
  br i1 %v62, label %b60, label %b61
b60:
  %v63 = phi i64 [ 0, %b43 ], [ %v106, %b60 ]
  %v64 = phi <8 x float> [ %v47, %b43 ], [ %v105, %b60 ]
  %v65 = add i64 %v63, %v27
  %v66 = add i64 %v65, -1
  %v67 = sub i64 %v66, 0
  %v68 = call i64 @llvm.smin.i64(i64 %v67, i64 1073741824)
  %v69 = call i64 @llvm.smax.i64(i64 %v68, i64 -1073741824)
  %v70 = trunc i64 %v69 to i32
  %v71 = insertelement <8 x i32> poison, i32 %v70, i64 0
  %v72 = shufflevector <8 x i32> %v71, <8 x i32> poison, <8 x i32> zeroinitializer
  %v73 = icmp sle <8 x i32> <i32 0, i32 -1, i32 -2, i32 -3, i32 -4, i32 -5, i32 -6, i32 -7>, %v72
  %v76 = and <8 x i1> %v75, %v73
  %v77 = sub i64 %v8, %v66
  %v78 = call i64 @llvm.smin.i64(i64 %v77, i64 1073741824)
  %v79 = call i64 @llvm.smax.i64(i64 %v78, i64 -1073741824)
  %v80 = trunc i64 %v79 to i32
  %v81 = insertelement <8 x i32> poison, i32 %v80, i64 0
  %v82 = shufflevector <8 x i32> %v81, <8 x i32> poison, <8 x i32> zeroinitializer
  %v83 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v82
  %v84 = and <8 x i1> %v76, %v83
  %v85 = add i64 %v54, %v63
  %v86 = add i64 %v85, %v10
  %v87 = add i64 %v86, %v27
  %v90 = add i64 %v87, %v89
  %v93 = getelementptr float, ptr %v92, i64 %v90
  %v94 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v93, i32 4, <8 x i1> %v84, <8 x float> splat (float 0x0000000000000000))
  %v95 = select <8 x i1> %v84, <8 x float> %v94, <8 x float> splat (float 0x0000000000000000)
  %v96 = add i64 %v56, %v63
  %v97 = add i64 %v96, %v14
  %v100 = getelementptr inbounds float, ptr %v99, i64 %v97
  %v101 = load float, ptr %v100
  %v102 = insertelement <8 x float> poison, float %v101, i64 0
  %v103 = shufflevector <8 x float> %v102, <8 x float> poison, <8 x i32> zeroinitializer
  %v104 = fmul <8 x float> %v95, %v103
  %v105 = fadd <8 x float> %v64, %v104
  %v106 = add i64 %v63, 1
  %v107 = icmp slt i64 %v106, %v59
  br i1 %v107, label %b60, label %b61, !llvm.loop !2
b61:
  %v108 = phi <8 x float> [ %v47, %b43 ], [ %v105, %b60 ]
  %v109 = add i64 %v46, 1
  %v110 = icmp slt i64 %v109, %v42
  br i1 %v110, label %b43, label %b44, !llvm.loop !3
b44:
  %v111 = phi <8 x float> [ %v37, %b33 ], [ %v108, %b61 ]
  %v112 = add i64 %v36, 1
  %v113 = icmp slt i64 %v112, %v32
  br i1 %v113, label %b33, label %b34, !llvm.loop !4
b34:
  %v114 = phi <8 x float> [ splat (float 0x0000000000000000), %b24 ], [ %v111, %b44 ]
  %v115 = add i64 %v18, %v27
  %v118 = getelementptr inbounds float, ptr %v117, i64 %v115
  store <8 x float> %v114, ptr %v118, align 4
  %v119 = add i64 %v27, 8
  %v120 = icmp slt i64 %v119, %v23
  br i1 %v120, label %b24, label %b25, !llvm.loop !5
b25:
  %v121 = sub i64 %v21, %v23
  %v122 = icmp sgt i64 %v121, 0
  br i1 %v122, label %b123, label %b124
b123:
  %v125 = trunc i64 %v121 to i32
  %v126 = insertelement <8 x i32> poison, i32 %v125, i64 0
  %v127 = shufflevector <8 x i32> %v126, <8 x i32> poison, <8 x i32> zeroinitializer
  %v128 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v127
  %v129 = icmp sgt i64 %v29, 0
  %v130 = select i1 %v129, i64 %v29, i64 0
  %v131 = add i64 0, %v130
  %v134 = icmp slt i64 0, %v131
  br i1 %v134, label %b132, label %b133
b132:
  %v135 = phi i64 [ 0, %b123 ], [ %v206, %b143 ]
  %v136 = phi <8 x float> [ splat (float 0x0000000000000000), %b123 ], [ %v205, %b143 ]
  %v137 = mul i64 %v135, %v16
  %v138 = mul i64 %v135, %v8
  %v139 = icmp sgt i64 %v29, 0
  %v140 = select i1 %v139, i64 %v29, i64 0
  %v141 = add i64 0, %v140
  %v144 = icmp slt i64 0, %v141
  br i1 %v144, label %b142, label %b143
b142:
  %v145 = phi i64 [ 0, %b132 ], [ %v203, %b160 ]
  %v146 = phi <8 x float> [ %v136, %b132 ], [ %v202, %b160 ]
  %v147 = add i64 %v145, %v9
  %v148 = add i64 %v147, -1
  %v149 = icmp sle i64 0, %v148
  %v150 = icmp slt i64 %v148, %v8
  %v151 = and i1 %v149, %v150
  %v152 = mul i64 %v145, %v8
  %v153 = add i64 %v137, %v152
  %v154 = mul i64 %v145, %v29
  %v155 = add i64 %v138, %v154
  %v173 = insertelement <8 x i1> poison, i1 %v151, i64 0
  %v174 = shufflevector <8 x i1> %v173, <8 x i1> poison, <8 x i32> zeroinitializer
  %v156 = icmp sgt i64 %v29, 0
  %v157 = select i1 %v156, i64 %v29, i64 0
  %v158 = add i64 0, %v157
  %v161 = icmp slt i64 0, %v158
  br i1 %v161, label %b159, label %b160
b159:
  %v162 = phi i64 [ 0, %b142 ], [ %v200, %b159 ]
  %v163 = phi <8 x float> [ %v146, %b142 ], [ %v199, %b159 ]
  %v164 = add i64 %v162, %v23
  %v165 = add i64 %v164, -1
  %v166 = sub i64 %v165, 0
  %v167 = call i64 @llvm.smin.i64(i64 %v166, i64 1073741824)
  %v168 = call i64 @llvm.smax.i64(i64 %v167, i64 -1073741824)
  %v169 = trunc i64 %v168 to i32
  %v170 = insertelement <8 x i32> poison, i32 %v169, i64 0
  %v171 = shufflevector <8 x i32> %v170, <8 x i32> poison, <8 x i32> zeroinitializer
  %v172 = icmp sle <8 x i32> <i32 0, i32 -1, i32 -2, i32 -3, i32 -4, i32 -5, i32 -6, i32 -7>, %v171
  %v175 = and <8 x i1> %v174, %v172
  %v176 = sub i64 %v8, %v165
  %v177 = call i64 @llvm.smin.i64(i64 %v176, i64 1073741824)
  %v178 = call i64 @llvm.smax.i64(i64 %v177, i64 -1073741824)
  %v179 = trunc i64 %v178 to i32
  %v180 = insertelement <8 x i32> poison, i32 %v179, i64 0
  %v181 = shufflevector <8 x i32> %v180, <8 x i32> poison, <8 x i32> zeroinitializer
  %v182 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v181
  %v183 = and <8 x i1> %v175, %v182
  %v184 = add i64 %v153, %v162
  %v185 = add i64 %v184, %v10
  %v186 = add i64 %v185, %v23
  %v187 = add i64 %v186, %v89
  %v188 = and <8 x i1> %v183, %v128
  %v189 = getelementptr float, ptr %v92, i64 %v187
  %v190 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v189, i32 4, <8 x i1> %v188, <8 x float> splat (float 0x0000000000000000))
  %v191 = select <8 x i1> %v183, <8 x float> %v190, <8 x float> splat (float 0x0000000000000000)
  %v192 = add i64 %v155, %v162
  %v193 = add i64 %v192, %v14
  %v194 = getelementptr inbounds float, ptr %v99, i64 %v193
  %v195 = load float, ptr %v194
  %v196 = insertelement <8 x float> poison, float %v195, i64 0
  %v197 = shufflevector <8 x float> %v196, <8 x float> poison, <8 x i32> zeroinitializer
  %v198 = fmul <8 x float> %v191, %v197
  %v199 = fadd <8 x float> %v163, %v198
  %v200 = add i64 %v162, 1
  %v201 = icmp slt i64 %v200, %v158
  br i1 %v201, label %b159, label %b160, !llvm.loop !6
b160:
  %v202 = phi <8 x float> [ %v146, %b142 ], [ %v199, %b159 ]
  %v203 = add i64 %v145, 1
  %v204 = icmp slt i64 %v203, %v141
  br i1 %v204, label %b142, label %b143, !llvm.loop !7
b143:
  %v205 = phi <8 x float> [ %v136, %b132 ], [ %v202, %b160 ]
  %v206 = add i64 %v135, 1
  %v207 = icmp slt i64 %v206, %v131
  br i1 %v207, label %b132, label %b133, !llvm.loop !8
b133:
  %v208 = phi <8 x float> [ splat (float 0x0000000000000000), %b123 ], [ %v205, %b143 ]
  %v209 = add i64 %v18, %v23
  %v210 = getelementptr float, ptr %v117, i64 %v209
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v208, ptr %v210, i32 4, <8 x i1> %v128)
  br label %b124
b124:
  %v211 = add i64 %v6, 1
  %v212 = icmp slt i64 %v211, %v2
  br i1 %v212, label %b3, label %b4, !llvm.loop !9
b4:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
!4 = distinct !{!4, !0, !1}
!5 = distinct !{!5, !0, !1}
!6 = distinct !{!6, !0, !1}
!7 = distinct !{!7, !0, !1}
!8 = distinct !{!8, !0, !1}
!9 = distinct !{!9, !0, !1}
