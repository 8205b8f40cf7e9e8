define void @true_div(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v1 = alloca [512 x float], align 64
  %v8 = getelementptr inbounds i64, ptr %args, i64 2
  %v9 = load i64, ptr %v8
  %v22 = getelementptr inbounds i64, ptr %args, i64 1
  %v23 = load ptr, ptr %v22
  %v69 = getelementptr inbounds i64, ptr %args, i64 3
  %v70 = load i64, ptr %v69
  %v111 = getelementptr inbounds i64, ptr %args, i64 4
  %v112 = load i64, ptr %v111
  %v114 = getelementptr inbounds i64, ptr %args, i64 5
  %v115 = load i64, ptr %v114
  %v201 = getelementptr inbounds i64, ptr %args, i64 0
  %v202 = load ptr, ptr %v201
  %v2 = sub i64 %end, %begin
  %v3 = add i64 %begin, %v2
  %v6 = icmp slt i64 %begin, %v3
  br i1 %v6, label %b4, label %b5
b4:
  %v7 = phi i64 [ %begin, %start ], [ %v219, %b209 ]
  %v10 = mul i64 %v7, %v9
  %v11 = icmp sgt i64 %v9, 0
  %v12 = select i1 %v11, i64 %v9, i64 0
  %v13 = add i64 0, %v12
  %v14 = and i64 %v12, -8
  %v15 = add i64 0, %v14
  %v18 = icmp slt i64 0, %v15
  br i1 %v18, label %b16, label %b17
b16:
  %v19 = phi i64 [ 0, %b4 ], [ %v30, %b16 ]
  %v20 = phi <8 x float> [ splat (float 0xFFF0000000000000), %b4 ], [ %v29, %b16 ]
  %v21 = add i64 %v19, %v10
  %v24 = getelementptr inbounds float, ptr %v23, i64 %v21
  %v25 = load <8 x float>, ptr %v24, align 4
  %v26 = fcmp ogt <8 x float> %v20, %v25
  %v27 = select <8 x i1> %v26, <8 x float> %v20, <8 x float> %v25
  %v28 = fcmp uno <8 x float> %v20, zeroinitializer
  %v29 = select <8 x i1> %v28, <8 x float> %v20, <8 x float> %v27
  %v30 = add i64 %v19, 8
  %v31 = icmp slt i64 %v30, %v15
  br i1 %v31, label %b16, label %b17, !llvm.loop !2
b17:
  %v32 = phi <8 x float> [ splat (float 0xFFF0000000000000), %b4 ], [ %v29, %b16 ]
  %v33 = sub i64 %v13, %v15
  %v34 = icmp sgt i64 %v33, 0
  br i1 %v34, label %b35, label %b36
b35:
  %v37 = trunc i64 %v33 to i32
  %v38 = insertelement <8 x i32> poison, i32 %v37, i64 0
  %v39 = shufflevector <8 x i32> %v38, <8 x i32> poison, <8 x i32> zeroinitializer
  %v40 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v39
  %v41 = add i64 %v15, %v10
  %v42 = getelementptr float, ptr %v23, i64 %v41
  %v43 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v42, i32 4, <8 x i1> %v40, <8 x float> zeroinitializer)
  %v44 = fcmp ogt <8 x float> %v32, %v43
  %v45 = select <8 x i1> %v44, <8 x float> %v32, <8 x float> %v43
  %v46 = fcmp uno <8 x float> %v32, zeroinitializer
  %v47 = select <8 x i1> %v46, <8 x float> %v32, <8 x float> %v45
  %v48 = select <8 x i1> %v40, <8 x float> %v47, <8 x float> %v32
  br label %b36
b36:
  %v49 = phi <8 x float> [ %v32, %b17 ], [ %v48, %b35 ]
  %v50 = shufflevector <8 x float> %v49, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v51 = shufflevector <8 x float> %v49, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v52 = fcmp ogt <4 x float> %v50, %v51
  %v53 = select <4 x i1> %v52, <4 x float> %v50, <4 x float> %v51
  %v54 = fcmp uno <4 x float> %v50, zeroinitializer
  %v55 = select <4 x i1> %v54, <4 x float> %v50, <4 x float> %v53
  %v56 = shufflevector <4 x float> %v55, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v57 = shufflevector <4 x float> %v55, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v58 = fcmp ogt <2 x float> %v56, %v57
  %v59 = select <2 x i1> %v58, <2 x float> %v56, <2 x float> %v57
  %v60 = fcmp uno <2 x float> %v56, zeroinitializer
  %v61 = select <2 x i1> %v60, <2 x float> %v56, <2 x float> %v59
  %v62 = extractelement <2 x float> %v61, i64 0
  %v63 = extractelement <2 x float> %v61, i64 1
  %v64 = fcmp ogt float %v62, %v63
  %v65 = select i1 %v64, float %v62, float %v63
  %v66 = fcmp uno float %v62, zeroinitializer
  %v67 = select i1 %v66, float %v62, float %v65
  %v82 = insertelement <16 x float> poison, float %v67, i64 0
  %v83 = shufflevector <16 x float> %v82, <16 x float> poison, <16 x i32> zeroinitializer
  %v68 = add i64 %v10, 0
  %v71 = add i64 0, %v70
  %v72 = sub i64 %v9, %v71
  %v73 = call i64 @llvm.smin.i64(i64 %v72, i64 1073741824)
  %v74 = call i64 @llvm.smax.i64(i64 %v73, i64 -1073741824)
  %v75 = trunc i64 %v74 to i32
  %v76 = insertelement <16 x i32> poison, i32 %v75, i64 0
  %v77 = shufflevector <16 x i32> %v76, <16 x i32> poison, <16 x i32> zeroinitializer
  %v78 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v77
  %v79 = add i64 %v68, %v70
  %v80 = getelementptr float, ptr %v23, i64 %v79
  %v81 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v80, i32 4, <16 x i1> %v78, <16 x float> splat (float 0x0000000000000000))
  %v84 = fsub <16 x float> %v81, %v83
  %v85 = fcmp ogt <16 x float> splat (float 0xC05A400000000000), %v84
  %v86 = select <16 x i1> %v85, <16 x float> splat (float 0xC05A400000000000), <16 x float> %v84
  %v87 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v86, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v88 = fsub <16 x float> %v87, splat (float 0x4168000000000000)
  %v89 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v88, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v86)
  %v90 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v88, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v89)
  %v91 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v90, <16 x float> splat (float 0x3F8120BE20000000))
  %v92 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v91, <16 x float> %v90, <16 x float> splat (float 0x3FA5555180000000))
  %v93 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v92, <16 x float> %v90, <16 x float> splat (float 0x3FC5554DC0000000))
  %v94 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v93, <16 x float> %v90, <16 x float> splat (float 0x3FE0000000000000))
  %v95 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v94, <16 x float> %v90, <16 x float> splat (float 0x3FF0000000000000))
  %v96 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v95, <16 x float> %v90, <16 x float> splat (float 0x3FF0000000000000))
  %v97 = bitcast <16 x float> %v87 to <16 x i32>
  %v98 = add <16 x i32> %v97, splat (i32 191)
  %v99 = shl <16 x i32> %v98, splat (i32 23)
  %v100 = bitcast <16 x i32> %v99 to <16 x float>
  %v101 = fmul <16 x float> %v96, %v100
  %v102 = fmul <16 x float> %v101, splat (float 0x3BF0000000000000)
  %v103 = select <16 x i1> %v78, <16 x float> %v102, <16 x float> splat (float 0x0000000000000000)
  %v104 = getelementptr inbounds float, ptr %v1, i64 %v71
  store <16 x float> %v102, ptr %v104, align 4
  br label %b105
b105:
  %v107 = phi i64 [ 0, %b36 ], [ %v171, %b162 ]
  %v108 = phi <16 x float> [ splat (float 0x0000000000000000), %b36 ], [ %v170, %b162 ]
  %v109 = mul i64 %v107, 256
  %v110 = add i64 %v68, %v109
  %v113 = mul i64 %v107, %v112
  %v116 = add i64 %v113, %v115
  %v117 = call i64 @llvm.smin.i64(i64 %v116, i64 16)
  %v118 = sub i64 16, %v116
  %v119 = call i64 @llvm.smin.i64(i64 %v118, i64 1)
  %v120 = add i64 0, %v109
  %v121 = icmp sgt i64 %v117, 0
  %v122 = select i1 %v121, i64 %v117, i64 0
  %v123 = add i64 0, %v122
  %v126 = icmp slt i64 0, %v123
  br i1 %v126, label %b124, label %b125
b124:
  %v127 = phi i64 [ 0, %b105 ], [ %v155, %b124 ]
  %v128 = phi <16 x float> [ splat (float 0x0000000000000000), %b105 ], [ %v152, %b124 ]
  %v129 = mul i64 %v127, 16
  %v130 = add i64 %v110, %v129
  %v131 = getelementptr inbounds float, ptr %v23, i64 %v130
  %v132 = load <16 x float>, ptr %v131, align 4
  %v133 = fsub <16 x float> %v132, %v83
  %v134 = fcmp ogt <16 x float> splat (float 0xC05A400000000000), %v133
  %v135 = select <16 x i1> %v134, <16 x float> splat (float 0xC05A400000000000), <16 x float> %v133
  %v136 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v135, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v137 = fsub <16 x float> %v136, splat (float 0x4168000000000000)
  %v138 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v137, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v135)
  %v139 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v137, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v138)
  %v140 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v139, <16 x float> splat (float 0x3F8120BE20000000))
  %v141 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v140, <16 x float> %v139, <16 x float> splat (float 0x3FA5555180000000))
  %v142 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v141, <16 x float> %v139, <16 x float> splat (float 0x3FC5554DC0000000))
  %v143 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v142, <16 x float> %v139, <16 x float> splat (float 0x3FE0000000000000))
  %v144 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v143, <16 x float> %v139, <16 x float> splat (float 0x3FF0000000000000))
  %v145 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v144, <16 x float> %v139, <16 x float> splat (float 0x3FF0000000000000))
  %v146 = bitcast <16 x float> %v136 to <16 x i32>
  %v147 = add <16 x i32> %v146, splat (i32 191)
  %v148 = shl <16 x i32> %v147, splat (i32 23)
  %v149 = bitcast <16 x i32> %v148 to <16 x float>
  %v150 = fmul <16 x float> %v145, %v149
  %v151 = fmul <16 x float> %v150, splat (float 0x3BF0000000000000)
  %v152 = fadd <16 x float> %v128, %v151
  %v153 = add i64 %v120, %v129
  %v154 = getelementptr inbounds float, ptr %v1, i64 %v153
  store <16 x float> %v151, ptr %v154, align 4
  %v155 = add i64 %v127, 1
  %v156 = icmp slt i64 %v155, %v123
  br i1 %v156, label %b124, label %b125, !llvm.loop !3
b125:
  %v157 = phi <16 x float> [ splat (float 0x0000000000000000), %b105 ], [ %v152, %b124 ]
  %v158 = icmp sgt i64 %v119, 0
  %v159 = select i1 %v158, i64 %v119, i64 0
  %v160 = add i64 0, %v159
  %v163 = icmp slt i64 0, %v160
  br i1 %v163, label %b161, label %b162
b161:
  %v164 = phi i64 [ 0, %b125 ], [ %v167, %b161 ]
  %v165 = phi <16 x float> [ %v157, %b125 ], [ %v166, %b161 ]
  %v166 = fadd <16 x float> %v165, %v103
  %v167 = add i64 %v164, 1
  %v168 = icmp slt i64 %v167, %v160
  br i1 %v168, label %b161, label %b162, !llvm.loop !4
b162:
  %v169 = phi <16 x float> [ %v157, %b125 ], [ %v166, %b161 ]
  %v170 = fadd <16 x float> %v108, %v169
  %v171 = add i64 %v107, 1
  %v172 = icmp slt i64 %v171, 2
  br i1 %v172, label %b105, label %b106, !llvm.loop !5
b106:
  %v173 = fadd <16 x float> splat (float 0x0000000000000000), %v170
  %v174 = shufflevector <16 x float> %v173, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v175 = shufflevector <16 x float> %v173, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v176 = fadd <8 x float> %v174, %v175
  %v177 = shufflevector <8 x float> %v176, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v178 = shufflevector <8 x float> %v176, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v179 = fadd <4 x float> %v177, %v178
  %v180 = shufflevector <4 x float> %v179, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v181 = shufflevector <4 x float> %v179, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v182 = fadd <2 x float> %v180, %v181
  %v183 = extractelement <2 x float> %v182, i64 0
  %v184 = extractelement <2 x float> %v182, i64 1
  %v185 = fadd float %v183, %v184
  %v198 = insertelement <8 x float> poison, float %v185, i64 0
  %v199 = shufflevector <8 x float> %v198, <8 x float> poison, <8 x i32> zeroinitializer
  %v186 = icmp sgt i64 %v9, 0
  %v187 = select i1 %v186, i64 %v9, i64 0
  %v188 = add i64 0, %v187
  %v189 = and i64 %v187, -8
  %v190 = add i64 0, %v189
  %v193 = icmp slt i64 0, %v190
  br i1 %v193, label %b191, label %b192
b191:
  %v194 = phi i64 [ 0, %b106 ], [ %v204, %b191 ]
  %v195 = add i64 %v194, %v10
  %v196 = getelementptr inbounds float, ptr %v1, i64 %v194
  %v197 = load <8 x float>, ptr %v196, align 4
  %v200 = fdiv <8 x float> %v197, %v199
  %v203 = getelementptr inbounds float, ptr %v202, i64 %v195
  store <8 x float> %v200, ptr %v203, align 4
  %v204 = add i64 %v194, 8
  %v205 = icmp slt i64 %v204, %v190
  br i1 %v205, label %b191, label %b192, !llvm.loop !6
b192:
  %v206 = sub i64 %v188, %v190
  %v207 = icmp sgt i64 %v206, 0
  br i1 %v207, label %b208, label %b209
b208:
  %v210 = trunc i64 %v206 to i32
  %v211 = insertelement <8 x i32> poison, i32 %v210, i64 0
  %v212 = shufflevector <8 x i32> %v211, <8 x i32> poison, <8 x i32> zeroinitializer
  %v213 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v212
  %v214 = add i64 %v190, %v10
  %v215 = getelementptr float, ptr %v1, i64 %v190
  %v216 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v215, i32 4, <8 x i1> %v213, <8 x float> zeroinitializer)
  %v217 = fdiv <8 x float> %v216, %v199
  %v218 = getelementptr float, ptr %v202, i64 %v214
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v217, ptr %v218, i32 4, <8 x i1> %v213)
  br label %b209
b209:
  %v219 = add i64 %v7, 1
  %v220 = icmp slt i64 %v219, %v3
  br i1 %v220, label %b4, label %b5, !llvm.loop !7
b5:
  ret void
}
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32, <16 x i1>, <16 x float>)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
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
