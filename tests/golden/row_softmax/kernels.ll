define void @true_div(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v1 = alloca [512 x float], align 64
  %v8 = getelementptr inbounds i64, ptr %args, i64 2
  %v9 = load i64, ptr %v8
  %v22 = getelementptr inbounds i64, ptr %args, i64 1
  %v23 = load ptr, ptr %v22
  %v69 = getelementptr inbounds i64, ptr %args, i64 3
  %v70 = load i64, ptr %v69
  %v116 = getelementptr inbounds i64, ptr %args, i64 4
  %v117 = load i64, ptr %v116
  %v119 = getelementptr inbounds i64, ptr %args, i64 5
  %v120 = load i64, ptr %v119
  %v211 = getelementptr inbounds i64, ptr %args, i64 0
  %v212 = load ptr, ptr %v211
  %v2 = sub i64 %end, %begin
  %v3 = add i64 %begin, %v2
  %v6 = icmp slt i64 %begin, %v3
  br i1 %v6, label %b4, label %b5
b4:
  %v7 = phi i64 [ %begin, %start ], [ %v229, %b219 ]
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
  %v87 = fcmp olt <16 x float> splat (float 0x4056600000000000), %v86
  %v88 = select <16 x i1> %v87, <16 x float> splat (float 0x4056600000000000), <16 x float> %v86
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
  %v100 = fcmp olt <16 x float> %v88, splat (float 0x0000000000000000)
  %v101 = select <16 x i1> %v100, <16 x i32> splat (i32 191), <16 x i32> splat (i32 63)
  %v102 = add <16 x i32> %v99, %v101
  %v103 = shl <16 x i32> %v102, splat (i32 23)
  %v104 = bitcast <16 x i32> %v103 to <16 x float>
  %v105 = fmul <16 x float> %v98, %v104
  %v106 = select <16 x i1> %v100, <16 x float> splat (float 0x3BF0000000000000), <16 x float> splat (float 0x43F0000000000000)
  %v107 = fmul <16 x float> %v105, %v106
  %v108 = select <16 x i1> %v78, <16 x float> %v107, <16 x float> splat (float 0x0000000000000000)
  %v109 = getelementptr inbounds float, ptr %v1, i64 %v71
  store <16 x float> %v107, ptr %v109, align 4
  br label %b110
b110:
  %v112 = phi i64 [ 0, %b36 ], [ %v181, %b172 ]
  %v113 = phi <16 x float> [ splat (float 0x0000000000000000), %b36 ], [ %v180, %b172 ]
  %v114 = mul i64 %v112, 256
  %v115 = add i64 %v68, %v114
  %v118 = mul i64 %v112, %v117
  %v121 = add i64 %v118, %v120
  %v122 = call i64 @llvm.smin.i64(i64 %v121, i64 16)
  %v123 = sub i64 16, %v121
  %v124 = call i64 @llvm.smin.i64(i64 %v123, i64 1)
  %v125 = add i64 0, %v114
  %v126 = icmp sgt i64 %v122, 0
  %v127 = select i1 %v126, i64 %v122, i64 0
  %v128 = add i64 0, %v127
  %v131 = icmp slt i64 0, %v128
  br i1 %v131, label %b129, label %b130
b129:
  %v132 = phi i64 [ 0, %b110 ], [ %v165, %b129 ]
  %v133 = phi <16 x float> [ splat (float 0x0000000000000000), %b110 ], [ %v162, %b129 ]
  %v134 = mul i64 %v132, 16
  %v135 = add i64 %v115, %v134
  %v136 = getelementptr inbounds float, ptr %v23, i64 %v135
  %v137 = load <16 x float>, ptr %v136, align 4
  %v138 = fsub <16 x float> %v137, %v83
  %v139 = fcmp ogt <16 x float> splat (float 0xC05A400000000000), %v138
  %v140 = select <16 x i1> %v139, <16 x float> splat (float 0xC05A400000000000), <16 x float> %v138
  %v141 = fcmp olt <16 x float> splat (float 0x4056600000000000), %v140
  %v142 = select <16 x i1> %v141, <16 x float> splat (float 0x4056600000000000), <16 x float> %v140
  %v143 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v142, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %v144 = fsub <16 x float> %v143, splat (float 0x4168000000000000)
  %v145 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v144, <16 x float> splat (float 0xBFE62E4300000000), <16 x float> %v142)
  %v146 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v144, <16 x float> splat (float 0x3E205C6100000000), <16 x float> %v145)
  %v147 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56D117C0000000), <16 x float> %v146, <16 x float> splat (float 0x3F8120BE20000000))
  %v148 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v147, <16 x float> %v146, <16 x float> splat (float 0x3FA5555180000000))
  %v149 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v148, <16 x float> %v146, <16 x float> splat (float 0x3FC5554DC0000000))
  %v150 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v149, <16 x float> %v146, <16 x float> splat (float 0x3FE0000000000000))
  %v151 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v150, <16 x float> %v146, <16 x float> splat (float 0x3FF0000000000000))
  %v152 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v151, <16 x float> %v146, <16 x float> splat (float 0x3FF0000000000000))
  %v153 = bitcast <16 x float> %v143 to <16 x i32>
  %v154 = fcmp olt <16 x float> %v142, splat (float 0x0000000000000000)
  %v155 = select <16 x i1> %v154, <16 x i32> splat (i32 191), <16 x i32> splat (i32 63)
  %v156 = add <16 x i32> %v153, %v155
  %v157 = shl <16 x i32> %v156, splat (i32 23)
  %v158 = bitcast <16 x i32> %v157 to <16 x float>
  %v159 = fmul <16 x float> %v152, %v158
  %v160 = select <16 x i1> %v154, <16 x float> splat (float 0x3BF0000000000000), <16 x float> splat (float 0x43F0000000000000)
  %v161 = fmul <16 x float> %v159, %v160
  %v162 = fadd <16 x float> %v133, %v161
  %v163 = add i64 %v125, %v134
  %v164 = getelementptr inbounds float, ptr %v1, i64 %v163
  store <16 x float> %v161, ptr %v164, align 4
  %v165 = add i64 %v132, 1
  %v166 = icmp slt i64 %v165, %v128
  br i1 %v166, label %b129, label %b130, !llvm.loop !3
b130:
  %v167 = phi <16 x float> [ splat (float 0x0000000000000000), %b110 ], [ %v162, %b129 ]
  %v168 = icmp sgt i64 %v124, 0
  %v169 = select i1 %v168, i64 %v124, i64 0
  %v170 = add i64 0, %v169
  %v173 = icmp slt i64 0, %v170
  br i1 %v173, label %b171, label %b172
b171:
  %v174 = phi i64 [ 0, %b130 ], [ %v177, %b171 ]
  %v175 = phi <16 x float> [ %v167, %b130 ], [ %v176, %b171 ]
  %v176 = fadd <16 x float> %v175, %v108
  %v177 = add i64 %v174, 1
  %v178 = icmp slt i64 %v177, %v170
  br i1 %v178, label %b171, label %b172, !llvm.loop !4
b172:
  %v179 = phi <16 x float> [ %v167, %b130 ], [ %v176, %b171 ]
  %v180 = fadd <16 x float> %v113, %v179
  %v181 = add i64 %v112, 1
  %v182 = icmp slt i64 %v181, 2
  br i1 %v182, label %b110, label %b111, !llvm.loop !5
b111:
  %v183 = fadd <16 x float> splat (float 0x0000000000000000), %v180
  %v184 = shufflevector <16 x float> %v183, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v185 = shufflevector <16 x float> %v183, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v186 = fadd <8 x float> %v184, %v185
  %v187 = shufflevector <8 x float> %v186, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v188 = shufflevector <8 x float> %v186, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v189 = fadd <4 x float> %v187, %v188
  %v190 = shufflevector <4 x float> %v189, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v191 = shufflevector <4 x float> %v189, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v192 = fadd <2 x float> %v190, %v191
  %v193 = extractelement <2 x float> %v192, i64 0
  %v194 = extractelement <2 x float> %v192, i64 1
  %v195 = fadd float %v193, %v194
  %v208 = insertelement <8 x float> poison, float %v195, i64 0
  %v209 = shufflevector <8 x float> %v208, <8 x float> poison, <8 x i32> zeroinitializer
  %v196 = icmp sgt i64 %v9, 0
  %v197 = select i1 %v196, i64 %v9, i64 0
  %v198 = add i64 0, %v197
  %v199 = and i64 %v197, -8
  %v200 = add i64 0, %v199
  %v203 = icmp slt i64 0, %v200
  br i1 %v203, label %b201, label %b202
b201:
  %v204 = phi i64 [ 0, %b111 ], [ %v214, %b201 ]
  %v205 = add i64 %v204, %v10
  %v206 = getelementptr inbounds float, ptr %v1, i64 %v204
  %v207 = load <8 x float>, ptr %v206, align 4
  %v210 = fdiv <8 x float> %v207, %v209
  %v213 = getelementptr inbounds float, ptr %v212, i64 %v205
  store <8 x float> %v210, ptr %v213, align 4
  %v214 = add i64 %v204, 8
  %v215 = icmp slt i64 %v214, %v200
  br i1 %v215, label %b201, label %b202, !llvm.loop !6
b202:
  %v216 = sub i64 %v198, %v200
  %v217 = icmp sgt i64 %v216, 0
  br i1 %v217, label %b218, label %b219
b218:
  %v220 = trunc i64 %v216 to i32
  %v221 = insertelement <8 x i32> poison, i32 %v220, i64 0
  %v222 = shufflevector <8 x i32> %v221, <8 x i32> poison, <8 x i32> zeroinitializer
  %v223 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v222
  %v224 = add i64 %v200, %v10
  %v225 = getelementptr float, ptr %v1, i64 %v200
  %v226 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v225, i32 4, <8 x i1> %v223, <8 x float> zeroinitializer)
  %v227 = fdiv <8 x float> %v226, %v209
  %v228 = getelementptr float, ptr %v212, i64 %v224
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v227, ptr %v228, i32 4, <8 x i1> %v223)
  br label %b219
b219:
  %v229 = add i64 %v7, 1
  %v230 = icmp slt i64 %v229, %v3
  br i1 %v230, label %b4, label %b5, !llvm.loop !7
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
