# git: commits, a merge, a rename, grep, gc with threads, fsck, all in a repository made here.
#@ needs git
#@ broken-by realloc_drops
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
set -e
git init -q -b main repository
cd repository
for i in 1 2 3 4 5 6; do
  for j in 1 2 3 4 5; do seq "$i" "$((i * 300 + j))" >"file-$j"; done
  git add . && git commit -q -m "commit $i"
done
git checkout -q -b side HEAD~2
seq 1 5000 >other && git mv file-1 renamed && git add . && git commit -q -m side
git checkout -q main && git merge -q -m merge side
git -c pack.threads=2 gc -q --aggressive --prune=now
git fsck --full 2>&1
git log --stat --format='%H %s' -M
git grep -c 99 | cat
git blame -s file-2 | sha256sum
git archive HEAD | sha256sum
git bundle create -q all.bundle --all && git clone -q all.bundle ../clone && git -C ../clone rev-parse HEAD
