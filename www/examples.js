// Example notes. All are invented.

/** @type {{ name: string, text: string }[]} */
export const EXAMPLES = [
  {
    name: "Discharge note",
    text: `History of present illness
A 67-year-old woman with type 2 diabetes mellitus, hypertension and COPD presents with five days of worsening shortness of breath, productive cough and fever. She denies chest pain, hemoptysis or leg swelling. Two weeks ago she had a runny nose and a sore throat. She sleeps on three pillows because of orthopnea.

Past medical history
Atrial fibrillation, hypothyroidism, GERD and gout. Laparoscopic cholecystectomy at 52, total knee replacement at 61. A cousin is said to have Harrow-Lindqvist syndrome.

Medications
Metformin 1000 mg twice daily, lisinopril 20 mg, apixaban 5 mg twice daily, levothyroxine 75 µg, omeprazole, tiotropium inhaler. Since last month she takes melvanoxine within a trial. Penicillin allergy (rash).

Examination
Temperature 38.6 °C, blood pressure 148/86 mmHg, oxygen saturation 89 % on room air. Tachypnea, expiratory wheezing, and crackles at the base of the right lung. Irregular pulse, no heart murmur. Abdomen soft, no hepatomegaly. Pitting edema of both ankles.

Investigations
Hemoglobin 11.2 g/dL, CRP 142 mg/L, creatinine 1.6 mg/dL, HbA1c 8.1 %, NT-proBNP 640 ng/L, troponin not raised. Chest X-ray: consolidation in the right lower lobe with a small pleural effusion. ECG without ST elevation. Blood cultures grew Streptococcus pneumoniae. Echocardiography three months ago showed left ventricular hypertrophy, ejection fraction 50 %.

Assessment and plan
1. Community-acquired pneumonia with hypoxia; no sign of sepsis. Ceftriaxone and azithromycin, oxygen therapy, intravenous fluids.
2. Acute exacerbation of COPD: prednisolone for five days, nebulized salbutamol.
3. Acute kidney injury, likely from dehydration: hold metformin and lisinopril.
4. Pulmonary embolism was considered unlikely; no CT angiography for now.
5. Mild anaemia, iron deficiancy suspected: ferritin, and colonoscopy once she has recovered.
6. Diabetic retinopathy screening is overdue.
`,
  },
  {
    name: "Radiology report",
    text: `CT of the chest, abdomen and pelvis with intravenous contrast
Indication: 58-year-old man, weight loss and night sweats, raised alkaline phosphatase. History of ulcerative colitis and primary sclerosing cholangitis (PSC).

Chest
No pulmonary embolism. Mild centrilobular emphysema of both upper lobes. A solid nodule of 7 mm in the left lower lobe. No pleural effusion, no mediastinal lymphadenopathy. Coronary artery calcification.

Abdomen and pelvis
The liver is enlarged with irregular margins, in keeping with cirrhosis; a hypervascular lesion of 24 mm in segment VIII with washout is suspicious of hepatocellular carcinoma. Beading of the intrahepatic bile ducts as known from PSC. Splenomegaly (15 cm) and esophageal varices; small ascites. Gallbladder without gallstones. Pancreas and adrenal glands normal. Simple cyst of the right kidney, no hydronephrosis. Wall thickening of the sigmoid colon; diverticulosis without diverticulitis. Osteoporosis with an old compression fracture of L1.

Impression
1. Suspected hepatocellular carcinoma in cirrhosis with portal hypertension.
2. Pulmonary nodule: repeat CT in three months.
3. Active ulcerative colitis of the sigmoid colon cannot be excluded; colonoscopy is advised.
`,
  },
  {
    name: "Research abstract",
    text: `Background: Familial hypercholesterolemia (FH) is a common inherited disorder of lipid metabolism and a cause of premature myocardial infarction. Statins lower LDL cholesterol, but muscle pain and, rarely, rhabdomyolysis limit their use.

Methods: In an invented trial, 412 adults with FH took rosuvastatin with ezetimibe or with the new agent zelviprastat for 52 weeks. Patients with liver cirrhosis, chronic kidney disease or hypothyroidism were left out. Carotid intima-media thickness was measured by ultrasonography; inflammation was followed by C-reactive protein.

Results: Myalgia was seen in 9 % and 4 %, new-onset diabetes mellitus in 2 % of both arms. Two patients had an ischemic stroke and one had acute pancreatitis. Apoptosis of macrophages in the arterial wall, seen in a mouse model of atherosclerosis, may explain the regression of plaques.

Conclusion: Zelviprastat may help patients with FH who do not tolerate statins. Tendon xanthoma and corneal arcus did not change.
`,
  },
  {
    name: "Emergency letter",
    text: `Dear colleague,

thank you for seeing this 9-year-old boy with cystic fibrosis, who came with abdominal pain, vomiting and constipation since yesterday. He is pale and dehydrated; heart rate 128/min, temperature 37.9 °C. The abdomen is distended, tender in the right iliac fossa, no guarding.

Ultrasound: dilated loops of the ileum, appendix not seen, no intussusception. Sodium 131 mmol/L, glucose 9.4 mmol/L, lipase normal. Distal intestinal obstruction syndrome is more likely than appendicitis.

Known: pancreatic insufficiency, nasal polyps, asthma, Pseudomonas aeruginosa in the sputum in spring. Takes pancreatin, ivacaftor, vitamin D, inhaled tobramycin and salbutamol as needed. Allergy to peanut with anaphylaxis at the age of four; carries adrenaline.

We gave ondansetron, paracetamol and intravenous fluids, and ask you to take over for bowel lavage.
`,
  },
];
