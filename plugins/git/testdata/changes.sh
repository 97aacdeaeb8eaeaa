# Makes the repository `repo` with every kind of change that `git status` knows, and `upstream`, which it follows.
set -e
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_COMMITTER_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_EMAIL=a@example.com
git init -q -b main upstream
cd upstream
mkdir -p folder/deep sub gone
for name in same changed staged both removed cached replaced linked 'with space' unstaged-then-same folder/a folder/deep/b gone/c theirs ours twice base; do
    echo "$name" > "$name"
done
ln -s same link && ln -s same relinked && ln -s same unlinked
printf '*.log\n!kept.log\n/only-top\nbuild/\ndeep/**/x\n**/any/y\na[!b]c\n\\#hash\ntrailing\\ \n[[:digit:]]d\n*.b?k\nkeepdir/*\n!keepdir/yes\nfolder/deep/secret\n[]x]z\n[a-\n**end\nq/**\nmid**dle\n' > .gitignore
echo '*.tmp' > folder/.gitignore
git add . && git commit -qm first
cd .. && git clone -q upstream repo && cd repo
git config user.name A && git config user.email a@example.com && git config status.renames false
git checkout -qb side
echo side > theirs && echo side > twice && git rm -q ours && echo side > new-in-both && git add . && git commit -qm side
git checkout -q main
git rm -q theirs && echo main > twice && echo main > ours && echo main > new-in-both && git add . && git commit -qm main
git merge -q side > /dev/null 2>&1 || true
echo more >> changed
echo more >> staged && git add staged
echo more >> both && git add both && echo more >> both
rm removed && git rm -q --cached cached
rm replaced && mkdir replaced && echo in > replaced/file
rm linked && ln -s same linked
rm link && echo file > link && git add link
ln -sf changed relinked && rm unlinked && echo same > unlinked
# Its time is another, its content the same.
touch -d '2020-01-01' unstaged-then-same
echo new > added && git add added
echo new > intended && git add -N intended
echo new > 'added then removed' && git add 'added then removed' && rm 'added then removed'
git update-index --skip-worktree base && rm base
rm -r gone && ln -s folder gone
git init -q nested && echo nested > nested/file
git init -q module && git -C module config user.name A && git -C module config user.email a@example.com && git -C module commit -q --allow-empty -m module
git add module 2> /dev/null
echo secret >> .git/info/exclude
# Not ignored and ignored, by each rule; and an empty folder, of which git says nothing.
mkdir -p empty new/deep build sub/build other/only-top any/sub deep/one/two any/any keepdir only q new2/logs folder/new 'odd "name"'
touch x.log kept.log only-top other/only-top build/a sub/build/b sub/c any/y any/sub/y deep/x deep/one/x deep/one/two/x abc adc '#hash' 'trailing ' trailing \
    1d dd a.bak a.bk keepdir/yes keepdir/no secret folder/secret folder/deep/secret folder/a.tmp a.tmp ]z xz yz '[a-' end theend q/a new2/logs/a.log \
    folder/new/file folder/new/b.tmp new/deep/file any/any/y 'odd "name"/ü' midxxdle mid.dle
ln -s /etc outside && ln -s nowhere dangling && mkfifo pipe
