PRAGMA application_id = 1215262309;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE candidates (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs(key),
  number INTEGER NOT NULL,
  source INTEGER NOT NULL REFERENCES texts(key),
  lane TEXT NOT NULL,
  path TEXT NOT NULL,
  assignment TEXT NOT NULL,
  proposer TEXT NOT NULL,
  parent TEXT NOT NULL,
  note TEXT NOT NULL,
  source_identity TEXT NOT NULL,
  at_s INTEGER NOT NULL,
  UNIQUE (run, number)
);
INSERT INTO "candidates" VALUES(1,1,1,2,'cpu','softmax.cpp','{"TILE": "8"}','descent','','','00000000000000000000000000000001',1796000010);
INSERT INTO "candidates" VALUES(2,1,2,2,'cpu','softmax.cpp','{"TILE": "16"}','descent','','','00000000000000000000000000000002',1796000010);
INSERT INTO "candidates" VALUES(3,1,3,2,'cpu','softmax.cpp','{"TILE": "24"}','descent','','','00000000000000000000000000000003',1796000010);
CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES runs(key),
  candidate INTEGER NOT NULL REFERENCES candidates(key),
  number INTEGER NOT NULL,
  depth TEXT NOT NULL,
  correct INTEGER NOT NULL,
  class TEXT NOT NULL,
  answer TEXT NOT NULL,
  ratio REAL, low REAL, high REAL,
  candidate_ns REAL, baseline_ns REAL,
  identity TEXT NOT NULL,
  code_hash TEXT NOT NULL,
  gate TEXT NOT NULL,
  reason TEXT NOT NULL,
  total_ms REAL,
  at_s INTEGER NOT NULL
);
INSERT INTO "evaluations" VALUES(1,1,1,1,'screen',1,'B','faster',2.1,2.0,2.2,100.0,200.0,'00000000000000000000000000abc001','code','','',250.0,1796000020);
INSERT INTO "evaluations" VALUES(2,1,2,2,'screen',0,'wrong','undecided',1.0,1.0,1.0,100.0,200.0,'00000000000000000000000000abc002','code','correctness','wrong_value',250.0,1796000020);
INSERT INTO "evaluations" VALUES(3,1,3,3,'screen',1,'A','slower',0.8,0.7,0.9,100.0,200.0,'00000000000000000000000000abc003','code','','',250.0,1796000020);
INSERT INTO "evaluations" VALUES(4,1,1,1,'verify',1,'B','faster',2.0,1.9,2.1,100.0,200.0,'00000000000000000000000000abc001','code','','',250.0,1796000020);
CREATE TABLE journal (
  run INTEGER NOT NULL REFERENCES runs(key),
  sequence INTEGER NOT NULL,
  entry TEXT NOT NULL,
  PRIMARY KEY (run, sequence)
) WITHOUT ROWID;
INSERT INTO "journal" VALUES(1,1,'{"kind":"screen"}');
INSERT INTO "journal" VALUES(1,2,'{"kind":"verify"}');
CREATE TABLE messages (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs(key),
  at_s INTEGER NOT NULL,
  level TEXT NOT NULL,
  text TEXT NOT NULL
);
INSERT INTO "messages" VALUES(1,1,1796000001,'info','preheated');
CREATE TABLE run_events (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs(key),
  at_s INTEGER NOT NULL,
  status TEXT NOT NULL,
  note TEXT NOT NULL,
  writer TEXT NOT NULL
);
INSERT INTO "run_events" VALUES(1,1,1796000000,'running','','0011223344556677');
INSERT INTO "run_events" VALUES(2,1,1796000060,'done','','0011223344556677');
CREATE TABLE runs (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  task_name TEXT NOT NULL,
  task_identity TEXT NOT NULL,
  task_folder TEXT NOT NULL,
  task_text INTEGER NOT NULL REFERENCES texts(key),
  options TEXT NOT NULL,
  seed INTEGER NOT NULL,
  device TEXT NOT NULL,
  versions TEXT NOT NULL,
  command TEXT NOT NULL,
  started_s INTEGER NOT NULL
);
INSERT INTO "runs" VALUES(1,'2026-11-30-softmax-3f2a','softmax','t1','/tasks/softmax',1,'{"budget":"60s"}',7,'{}','{"hone":"0.1.0"}','hone optimize softmax',1796000000);
CREATE TABLE samples (
  evaluation INTEGER NOT NULL REFERENCES evaluations(id),
  speed INTEGER NOT NULL,
  cbor BLOB NOT NULL,
  PRIMARY KEY (evaluation, speed)
) WITHOUT ROWID;
INSERT INTO "samples" VALUES(1,0,X'A165736C6F747383FB3FF8000000000000FB4004000000000000FB400C000000000000');
INSERT INTO "samples" VALUES(3,0,X'A165736C6F747383FB3FF8000000000000FB4004000000000000FB400C000000000000');
INSERT INTO "samples" VALUES(4,0,X'A165736C6F747383FB3FF8000000000000FB4004000000000000FB400C000000000000');
CREATE TABLE states (
  run INTEGER NOT NULL REFERENCES runs(key),
  proposer TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (run, proposer)
);
INSERT INTO "states" VALUES(1,'descent',2,'{}');
CREATE TABLE texts (
  key INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  text BLOB NOT NULL
);
INSERT INTO "texts" VALUES(1,'h1',X'5B7461736B5D0A6E616D65203D2022736F66746D6178220A');
INSERT INTO "texts" VALUES(2,'h2',X'2F2F20686F6E653A66756E6374696F6E20736F66746D61780A');
CREATE TABLE verdicts (
  evaluation INTEGER PRIMARY KEY REFERENCES evaluations(id),
  json TEXT NOT NULL
);
INSERT INTO "verdicts" VALUES(1,'{"correct": true, "class": "B", "depth": "screen", "answer": "faster", "speedup": {"ratio": 2.1, "low": 2.0, "high": 2.2}, "failure": null, "gates": [], "speeds": [{"case": "N=4", "answer": "faster", "confidence": 0.95, "candidate_ns": 100, "baseline_ns": 200, "pairs": 8, "rounds": 64, "cache": "cold", "reason": "", "ratio": 2.1, "low": 2.0, "high": 2.2}], "seeds": ["0x0000000000000007"], "total_ms": 250}');
INSERT INTO "verdicts" VALUES(2,'{"correct": false, "class": "wrong", "depth": "screen", "answer": "undecided", "speedup": null, "failure": {"gate": "correctness", "reason": "wrong_value", "message": "y[3] is off", "evidence": {"index": 3}}, "gates": [], "speeds": [], "seeds": ["0x0000000000000007"], "total_ms": 250}');
INSERT INTO "verdicts" VALUES(3,'{"correct": true, "class": "A", "depth": "screen", "answer": "slower", "speedup": {"ratio": 0.8, "low": 0.7, "high": 0.9}, "failure": null, "gates": [], "speeds": [{"case": "N=4", "answer": "slower", "confidence": 0.95, "candidate_ns": 100, "baseline_ns": 200, "pairs": 8, "rounds": 64, "cache": "cold", "reason": "", "ratio": 0.8, "low": 0.7, "high": 0.9}], "seeds": ["0x0000000000000007"], "total_ms": 250}');
INSERT INTO "verdicts" VALUES(4,'{"correct": true, "class": "B", "depth": "verify", "answer": "faster", "speedup": {"ratio": 2.0, "low": 1.9, "high": 2.1}, "failure": null, "gates": [], "speeds": [{"case": "N=4", "answer": "faster", "confidence": 0.95, "candidate_ns": 100, "baseline_ns": 200, "pairs": 8, "rounds": 64, "cache": "cold", "reason": "", "ratio": 2.0, "low": 1.9, "high": 2.1}], "seeds": ["0x0000000000000007"], "total_ms": 250}');
CREATE INDEX run_events_by_run ON run_events(run, key);
CREATE INDEX messages_by_run ON messages(run, key);
CREATE UNIQUE INDEX candidates_by_identity ON candidates(run, source_identity) WHERE source_identity <> '';
CREATE INDEX candidates_by_name ON candidates(source_identity) WHERE source_identity <> '';
CREATE INDEX evaluations_by_run ON evaluations(run, id);
CREATE INDEX evaluations_by_candidate ON evaluations(candidate, id);
CREATE INDEX evaluations_by_identity ON evaluations(identity) WHERE identity <> '';
CREATE INDEX evaluations_best ON evaluations(run, depth, class, low DESC) WHERE correct = 1 AND answer = 'faster';
CREATE TRIGGER texts_u BEFORE UPDATE ON texts BEGIN SELECT RAISE(ABORT, 'texts are append-only'); END;
CREATE TRIGGER texts_d BEFORE DELETE ON texts BEGIN SELECT RAISE(ABORT, 'texts are append-only'); END;
CREATE TRIGGER runs_u BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'runs are append-only'); END;
CREATE TRIGGER runs_d BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'runs are append-only'); END;
CREATE TRIGGER run_events_u BEFORE UPDATE ON run_events BEGIN SELECT RAISE(ABORT, 'run_events are append-only'); END;
CREATE TRIGGER run_events_d BEFORE DELETE ON run_events BEGIN SELECT RAISE(ABORT, 'run_events are append-only'); END;
CREATE TRIGGER messages_u BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'messages are append-only'); END;
CREATE TRIGGER messages_d BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'messages are append-only'); END;
CREATE TRIGGER candidates_u BEFORE UPDATE ON candidates BEGIN SELECT RAISE(ABORT, 'candidates are append-only'); END;
CREATE TRIGGER candidates_d BEFORE DELETE ON candidates BEGIN SELECT RAISE(ABORT, 'candidates are append-only'); END;
CREATE TRIGGER evaluations_u BEFORE UPDATE ON evaluations BEGIN SELECT RAISE(ABORT, 'evaluations are append-only'); END;
CREATE TRIGGER evaluations_d BEFORE DELETE ON evaluations BEGIN SELECT RAISE(ABORT, 'evaluations are append-only'); END;
CREATE TRIGGER verdicts_u BEFORE UPDATE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
CREATE TRIGGER verdicts_d BEFORE DELETE ON verdicts BEGIN SELECT RAISE(ABORT, 'verdicts are append-only'); END;
CREATE TRIGGER samples_u BEFORE UPDATE ON samples BEGIN SELECT RAISE(ABORT, 'samples are append-only'); END;
CREATE TRIGGER samples_d BEFORE DELETE ON samples BEGIN SELECT RAISE(ABORT, 'samples are append-only'); END;
CREATE TRIGGER journal_u BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END;
CREATE TRIGGER journal_d BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('evaluations',4);
COMMIT;
