define void @true_div(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v1 = alloca [512 x float], align 64
  %v8 = getelementptr inbounds i64, ptr %args, i64 2
  %v9 = load i64, ptr %v8
  %v22 = getelementptr inbounds i64, ptr %args, i64 1
  %v23 = load ptr, ptr %v22
  %v69 = getelementptr inbounds i64, ptr %args, i64 3
  %v70 = load i64, ptr %v69
  %v113 = getelementptr inbounds i64, ptr %args, i64 4
  %v114 = load i64, ptr %v113
  %v116 = getelementptr inbounds i64, ptr %args, i64 5
  %v117 = load i64, ptr %v116
  %v203 = getelementptr inbounds i64, ptr %args, i64 0
  %v204 = load ptr, ptr %v203
  %spare = alloca [64 x i8], align 64
  %v2 = sub i64 %end, %begin
  %v3 = add i64 %begin, %v2
  %v6 = icmp slt i64 %begin, %v3
  br i1 %v6, label %b4, label %b5
b4:
  %v7 = phi i64 [ %begin, %start ], [ %v221, %b211 ]
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
  %v84 = insertelement <16 x float> poison, float %v67, i64 0
  %v85 = shufflevector <16 x float> %v84, <16 x float> poison, <16 x i32> zeroinitializer
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
  %v80 = icmp slt i64 %v71, %v9
  %v81 = getelementptr float, ptr %v23, i64 %v79
  %v82 = select i1 %v80, ptr %v81, ptr %spare
  %v83 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v82, i32 4, <16 x i1> %v78, <16 x float> splat (float 0x0000000000000000))
  %v86 = fsub <16 x float> %v83, %v85
  %v87 = fcmp ogt <16 x float> splat (float 0xC05A400000000000), %v86
  %v88 = select <16 x i1> %v87, <16 x float> splat (float 0xC05A400000000000), <16 x float> %v86
  %v89 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v88, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v90 = fsub <16 x float> %v89, splat (float 0x4168000000000000)
  %v91 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v90, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v88)
  %v92 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v90, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v91)
  %v93 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v92, <16 x float> splat (float 0x3F8120BE20000000))
  %v94 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v93, <16 x float> %v92, <16 x float> splat (float 0x3FA5555180000000))
  %v95 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v94, <16 x float> %v92, <16 x float> splat (float 0x3FC5554DC0000000))
  %v96 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v95, <16 x float> %v92, <16 x float> splat (float 0x3FE0000000000000))
  %v97 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v96, <16 x float> %v92, <16 x float> splat (float 0x3FF0000000000000))
  %v98 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v97, <16 x float> %v92, <16 x float> splat (float 0x3FF0000000000000))
  %v99 = bitcast <16 x float> %v89 to <16 x i32>
  %v100 = add <16 x i32> %v99, splat (i32 191)
  %v101 = shl <16 x i32> %v100, splat (i32 23)
  %v102 = bitcast <16 x i32> %v101 to <16 x float>
  %v103 = fmul <16 x float> %v98, %v102
  %v104 = fmul <16 x float> %v103, splat (float 0x3BF0000000000000)
  %v105 = select <16 x i1> %v78, <16 x float> %v104, <16 x float> splat (float 0x0000000000000000)
  %v106 = getelementptr inbounds float, ptr %v1, i64 %v71
  store <16 x float> %v104, ptr %v106, align 4
  br label %b107
b107:
  %v109 = phi i64 [ 0, %b36 ], [ %v173, %b164 ]
  %v110 = phi <16 x float> [ splat (float 0x0000000000000000), %b36 ], [ %v172, %b164 ]
  %v111 = mul i64 %v109, 256
  %v112 = add i64 %v68, %v111
  %v115 = mul i64 %v109, %v114
  %v118 = add i64 %v115, %v117
  %v119 = call i64 @llvm.smin.i64(i64 %v118, i64 16)
  %v120 = sub i64 16, %v118
  %v121 = call i64 @llvm.smin.i64(i64 %v120, i64 1)
  %v122 = add i64 0, %v111
  %v123 = icmp sgt i64 %v119, 0
  %v124 = select i1 %v123, i64 %v119, i64 0
  %v125 = add i64 0, %v124
  %v128 = icmp slt i64 0, %v125
  br i1 %v128, label %b126, label %b127
b126:
  %v129 = phi i64 [ 0, %b107 ], [ %v157, %b126 ]
  %v130 = phi <16 x float> [ splat (float 0x0000000000000000), %b107 ], [ %v154, %b126 ]
  %v131 = mul i64 %v129, 16
  %v132 = add i64 %v112, %v131
  %v133 = getelementptr inbounds float, ptr %v23, i64 %v132
  %v134 = load <16 x float>, ptr %v133, align 4
  %v135 = fsub <16 x float> %v134, %v85
  %v136 = fcmp ogt <16 x float> splat (float 0xC05A400000000000), %v135
  %v137 = select <16 x i1> %v136, <16 x float> splat (float 0xC05A400000000000), <16 x float> %v135
  %v138 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v137, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v139 = fsub <16 x float> %v138, splat (float 0x4168000000000000)
  %v140 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v139, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v137)
  %v141 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v139, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v140)
  %v142 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v141, <16 x float> splat (float 0x3F8120BE20000000))
  %v143 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v142, <16 x float> %v141, <16 x float> splat (float 0x3FA5555180000000))
  %v144 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v143, <16 x float> %v141, <16 x float> splat (float 0x3FC5554DC0000000))
  %v145 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v144, <16 x float> %v141, <16 x float> splat (float 0x3FE0000000000000))
  %v146 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v145, <16 x float> %v141, <16 x float> splat (float 0x3FF0000000000000))
  %v147 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v146, <16 x float> %v141, <16 x float> splat (float 0x3FF0000000000000))
  %v148 = bitcast <16 x float> %v138 to <16 x i32>
  %v149 = add <16 x i32> %v148, splat (i32 191)
  %v150 = shl <16 x i32> %v149, splat (i32 23)
  %v151 = bitcast <16 x i32> %v150 to <16 x float>
  %v152 = fmul <16 x float> %v147, %v151
  %v153 = fmul <16 x float> %v152, splat (float 0x3BF0000000000000)
  %v154 = fadd <16 x float> %v130, %v153
  %v155 = add i64 %v122, %v131
  %v156 = getelementptr inbounds float, ptr %v1, i64 %v155
  store <16 x float> %v153, ptr %v156, align 4
  %v157 = add i64 %v129, 1
  %v158 = icmp slt i64 %v157, %v125
  br i1 %v158, label %b126, label %b127, !llvm.loop !3
b127:
  %v159 = phi <16 x float> [ splat (float 0x0000000000000000), %b107 ], [ %v154, %b126 ]
  %v160 = icmp sgt i64 %v121, 0
  %v161 = select i1 %v160, i64 %v121, i64 0
  %v162 = add i64 0, %v161
  %v165 = icmp slt i64 0, %v162
  br i1 %v165, label %b163, label %b164
b163:
  %v166 = phi i64 [ 0, %b127 ], [ %v169, %b163 ]
  %v167 = phi <16 x float> [ %v159, %b127 ], [ %v168, %b163 ]
  %v168 = fadd <16 x float> %v167, %v105
  %v169 = add i64 %v166, 1
  %v170 = icmp slt i64 %v169, %v162
  br i1 %v170, label %b163, label %b164, !llvm.loop !4
b164:
  %v171 = phi <16 x float> [ %v159, %b127 ], [ %v168, %b163 ]
  %v172 = fadd <16 x float> %v110, %v171
  %v173 = add i64 %v109, 1
  %v174 = icmp slt i64 %v173, 2
  br i1 %v174, label %b107, label %b108, !llvm.loop !5
b108:
  %v175 = fadd <16 x float> splat (float 0x0000000000000000), %v172
  %v176 = shufflevector <16 x float> %v175, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v177 = shufflevector <16 x float> %v175, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v178 = fadd <8 x float> %v176, %v177
  %v179 = shufflevector <8 x float> %v178, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v180 = shufflevector <8 x float> %v178, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v181 = fadd <4 x float> %v179, %v180
  %v182 = shufflevector <4 x float> %v181, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v183 = shufflevector <4 x float> %v181, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v184 = fadd <2 x float> %v182, %v183
  %v185 = extractelement <2 x float> %v184, i64 0
  %v186 = extractelement <2 x float> %v184, i64 1
  %v187 = fadd float %v185, %v186
  %v200 = insertelement <8 x float> poison, float %v187, i64 0
  %v201 = shufflevector <8 x float> %v200, <8 x float> poison, <8 x i32> zeroinitializer
  %v188 = icmp sgt i64 %v9, 0
  %v189 = select i1 %v188, i64 %v9, i64 0
  %v190 = add i64 0, %v189
  %v191 = and i64 %v189, -8
  %v192 = add i64 0, %v191
  %v195 = icmp slt i64 0, %v192
  br i1 %v195, label %b193, label %b194
b193:
  %v196 = phi i64 [ 0, %b108 ], [ %v206, %b193 ]
  %v197 = add i64 %v196, %v10
  %v198 = getelementptr inbounds float, ptr %v1, i64 %v196
  %v199 = load <8 x float>, ptr %v198, align 4
  %v202 = fdiv <8 x float> %v199, %v201
  %v205 = getelementptr inbounds float, ptr %v204, i64 %v197
  store <8 x float> %v202, ptr %v205, align 4
  %v206 = add i64 %v196, 8
  %v207 = icmp slt i64 %v206, %v192
  br i1 %v207, label %b193, label %b194, !llvm.loop !6
b194:
  %v208 = sub i64 %v190, %v192
  %v209 = icmp sgt i64 %v208, 0
  br i1 %v209, label %b210, label %b211
b210:
  %v212 = trunc i64 %v208 to i32
  %v213 = insertelement <8 x i32> poison, i32 %v212, i64 0
  %v214 = shufflevector <8 x i32> %v213, <8 x i32> poison, <8 x i32> zeroinitializer
  %v215 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v214
  %v216 = add i64 %v192, %v10
  %v217 = getelementptr float, ptr %v1, i64 %v192
  %v218 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v217, i32 4, <8 x i1> %v215, <8 x float> zeroinitializer)
  %v219 = fdiv <8 x float> %v218, %v201
  %v220 = getelementptr float, ptr %v204, i64 %v216
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v219, ptr %v220, i32 4, <8 x i1> %v215)
  br label %b211
b211:
  %v221 = add i64 %v7, 1
  %v222 = icmp slt i64 %v221, %v3
  br i1 %v222, label %b4, label %b5, !llvm.loop !7
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
